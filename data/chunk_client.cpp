#include "data/chunk_service.hpp"

#include "data/flight_ticket.hpp"
#include "runtime/errors.hpp"

#include <arrow/api.h>
#include <arrow/flight/client.h>
#include <charconv>

namespace ballast {

namespace flight = arrow::flight;

namespace {

using steady = std::chrono::steady_clock;

/// A fetch that arrived damaged is repeated so often in all.
constexpr int attempts_max = 2;

/// The time left of a call that may take several streams.
class time_left {
public:
  explicit time_left(std::chrono::milliseconds deadline)
      : deadline_(deadline), until_(steady::now() + deadline) {}

  flight::FlightCallOptions options() const {
    flight::FlightCallOptions out;
    // Flight takes 0 and less for "no limit".
    out.timeout = std::max<flight::TimeoutDuration>(
        until_ - steady::now(), std::chrono::milliseconds(1));
    out.read_options.ensure_alignment =
        arrow::ipc::Alignment::kDataTypeSpecificAlignment;
    return out;
  }
  std::string text() const { return std::to_string(deadline_.count()) + " ms"; }

private:
  std::chrono::milliseconds deadline_;
  steady::time_point until_;
};

class flight_client final : public chunk_client {
public:
  flight_client(std::string address, std::string token)
      : address_(std::move(address)), token_(std::move(token)) {}

  /// Opens the channel now: a first call is slow, and a wrong address or token
  /// is best known early.
  void connect(std::chrono::milliseconds deadline) {
    const time_left left(deadline);
    flight::FlightClientOptions options =
        flight::FlightClientOptions::Defaults();
    // Not through a web proxy; and no memory of earlier failed attempts.
    options.generic_options = {{"grpc.enable_http_proxy", 0},
                               {"grpc.use_local_subchannel_pool", 1}};
    const std::string what = "saying hello";
    const flight::Location location =
        take(flight::Location::Parse("grpc+tcp://" + address_), left, what);
    client_ =
        take(flight::FlightClient::Connect(location, options), left, what);
    flight::Action hello{hello_action, arrow::Buffer::FromString(token_)};
    auto results = take(client_->DoAction(left.options(), hello), left, what);
    // The answer has arrived only when the stream ends.
    while (take(results->Next(), left, what) != nullptr) {
    }
  }

  void fetch(data_part part, std::span<const chunk_info> chunks,
             const row_shape& row, std::chrono::milliseconds deadline,
             const std::function<void(chunk_ptr)>& arrived,
             const std::function<void(const chunk_info&)>& damaged) override {
    const time_left left(deadline);
    std::vector<const chunk_info*> missing;
    for (const chunk_info& chunk : chunks)
      missing.push_back(&chunk);
    for (int attempt = 1; !missing.empty(); ++attempt) {
      missing = fetch_once(part, missing, row, left, arrived);
      if (damaged)
        for (const chunk_info* one : missing)
          damaged(*one);
      if (!missing.empty() && attempt == attempts_max)
        throw ballast_error(
            errc::invalid_data,
            name(part, *missing[0]) + " from " + address_ +
                " arrived damaged " + std::to_string(attempts_max) +
                " times (its checksum is not " + missing[0]->checksum +
                "); prepare the data again, or look at that machine");
    }
  }

  std::string fetch_blob(const std::string& blob,
                         std::chrono::milliseconds deadline) override {
    const time_left left(deadline);
    for (int attempt = 1; attempt <= attempts_max; ++attempt) {
      std::string out;
      if (fetch_blob_once(blob, left, out))
        return out;
    }
    throw ballast_error(errc::invalid_data, "'" + blob + "' from " + address_ +
                                                " arrived damaged " +
                                                std::to_string(attempts_max) +
                                                " times");
  }

private:
  std::unique_ptr<flight::FlightStreamReader> open(const flight_ticket& ticket,
                                                   const time_left& left,
                                                   const std::string& what) {
    return take(client_->DoGet(left.options(), {encode(ticket)}), left, what);
  }

  /// Hands on what arrives whole; returns what did not.
  std::vector<const chunk_info*>
  fetch_once(data_part part, const std::vector<const chunk_info*>& chunks,
             const row_shape& row, const time_left& left,
             const std::function<void(chunk_ptr)>& arrived) {
    std::vector<uint64_t> ids;
    ids.reserve(chunks.size());
    for (const chunk_info* chunk : chunks)
      ids.push_back(value(chunk->id));
    auto stream =
        open({token_, part, compress(ids), ""}, left, name(part, *chunks[0]));
    std::vector<const chunk_info*> damaged;
    for (const chunk_info* expected : chunks) {
      flight::FlightStreamChunk next =
          take(stream->Next(), left, name(part, *expected));
      if (next.data == nullptr)
        throw ballast_error(errc::unreachable, address_ +
                                                   " ended early, before " +
                                                   name(part, *expected));
      if (chunk_ptr chunk = whole_chunk(*expected, row, std::move(next.data)))
        arrived(std::move(chunk));
      else
        damaged.push_back(expected);
    }
    return damaged;
  }

  /// Null if it is not what was expected.
  static chunk_ptr whole_chunk(const chunk_info& expected, const row_shape& row,
                               std::shared_ptr<arrow::RecordBatch> batch) {
    chunk_ptr chunk;
    try {
      chunk = make_chunk(expected.id, row, std::move(batch));
    } catch (const ballast_error&) {
      return nullptr;
    }
    const bool whole = chunk->rows == expected.rows &&
                       checksum(*chunk, row) == expected.checksum;
    return whole ? chunk : nullptr;
  }

  bool fetch_blob_once(const std::string& blob, const time_left& left,
                       std::string& out) {
    const std::string what = "'" + blob + "'";
    flight_ticket ticket;
    ticket.token = token_;
    ticket.blob = blob;
    auto stream = open(ticket, left, what);
    const auto schema = take(stream->GetSchema(), left, what);
    if (schema->metadata() == nullptr || schema->num_fields() != 1 ||
        schema->field(0)->type()->id() != arrow::Type::UINT8)
      return false;
    reserve(out, *schema->metadata());
    for (;;) {
      const flight::FlightStreamChunk next = take(stream->Next(), left, what);
      if (next.data == nullptr)
        break;
      const auto& bytes =
          static_cast<const arrow::UInt8Array&>(*next.data->column(0));
      out.append(reinterpret_cast<const char*>(bytes.raw_values()),
                 size_t(bytes.length()));
    }
    const auto size = schema->metadata()->Get(blob_bytes_key);
    const auto sum = schema->metadata()->Get(blob_checksum_key);
    return size.ok() && sum.ok() && *size == std::to_string(out.size()) &&
           *sum == checksum(out.data(), out.size());
  }

  /// A claim from the network is only believed up to a limit.
  static void reserve(std::string& out,
                      const arrow::KeyValueMetadata& metadata) {
    constexpr uint64_t believed_max = uint64_t{1} << 30;
    const std::string text = metadata.Get(blob_bytes_key).ValueOr("0");
    uint64_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    out.reserve(std::min(bytes, believed_max));
  }

  static std::string name(data_part part, const chunk_info& chunk) {
    return "chunk " + to_string(chunk.id) + " of " + to_string(part);
  }

  /// The value, or ballast_error{unreachable} that names the peer.
  template <class T>
  T take(arrow::Result<T> result, const time_left& left,
         const std::string& what) const {
    if (!result.ok())
      refuse(result.status(), left, what);
    return std::move(result).ValueUnsafe();
  }

  [[noreturn]] void refuse(const arrow::Status& status, const time_left& left,
                           const std::string& what) const {
    const auto detail = flight::FlightStatusDetail::UnwrapStatus(status);
    std::string why = status.message();
    if (detail != nullptr &&
        detail->code() == flight::FlightStatusCode::TimedOut)
      why = "no answer within " + left.text();
    else if (detail != nullptr &&
             detail->code() == flight::FlightStatusCode::Unauthenticated)
      why = "it serves another run (its token differs)";
    else if (detail != nullptr &&
             detail->code() == flight::FlightStatusCode::Unavailable)
      why = "nothing answers there";
    throw ballast_error(errc::unreachable,
                        "data service " + address_ + ", " + what + ": " + why);
  }

  const std::string address_;
  const std::string token_;
  std::unique_ptr<flight::FlightClient> client_;
};

} // namespace

std::unique_ptr<chunk_client>
chunk_client::connect(const std::string& address, const std::string& token,
                      std::chrono::milliseconds deadline) {
  auto out = std::make_unique<flight_client>(address, token);
  out->connect(deadline);
  return out;
}

} // namespace ballast
