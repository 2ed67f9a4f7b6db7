#include "data/transfer/chunk_service.hpp"

#include "data/base/flight_words.hpp"
#include "data/transfer/flight_ticket.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/flight/client.h>
#include <arrow/util/byte_size.h>
#include <charconv>
#include <string_view>

namespace ballast::data {

namespace flight = arrow::flight;

namespace {

constexpr int window_bytes = 256 << 10;

using steady = std::chrono::steady_clock;

/// Number of attempts, the first included, for a fetch that arrives damaged.
constexpr int attempts_max = 2;
/// A blob is built on request: tens of gigabytes are copied and hashed before
/// the first byte travels.
constexpr int blob_preparation = 4;

/// Our service's own message.
std::string in_our_words(const std::string& error) {
  const std::string text = words_in_flight_error(error);
  return text.empty() ? "the transfer failed" : printable(text);
}

/// The remaining time of a call.
class time_left {
public:
  explicit time_left(std::chrono::milliseconds deadline)
      : deadline_(deadline), until_(steady::now() + deadline) {}

  flight::FlightCallOptions options() const {
    flight::FlightCallOptions out;
    // Flight takes 0 and negative values for "no limit".
    out.timeout = std::max<flight::TimeoutDuration>(
        until_ - steady::now(), std::chrono::milliseconds(1));
    return out;
  }
  std::string text() const { return std::to_string(deadline_.count()) + " ms"; }

private:
  std::chrono::milliseconds deadline_;
  steady::time_point until_;
};

/// One reply of the service, message by message, cancelled if it stalls. Uses
/// an exchange, because Flight cannot cancel a DoGet before its first message.
class bulk_stream {
public:
  bulk_stream(flight::FlightClient::DoExchangeResult opened,
              const bulk_watch& how, uint64_t expected, int preparation)
      : writer_(std::move(opened.writer)), reader_(std::move(opened.reader)),
        watch_(how, expected, preparation, [this] { reader_->Cancel(); }) {}
  bulk_stream(const bulk_stream&) = delete;
  bulk_stream& operator=(const bulk_stream&) = delete;

  ~bulk_stream() {
    if (!ended_)
      reader_->Cancel();
    (void)writer_->Close(); // repeats the earlier failure, if there was one
  }

  arrow::Result<std::shared_ptr<arrow::Schema>> schema() {
    ARROW_RETURN_NOT_OK(writer_->DoneWriting());
    return reader_->GetSchema();
  }
  /// Without data: the end of the stream.
  arrow::Result<flight::FlightStreamChunk> next() {
    ARROW_ASSIGN_OR_RAISE(flight::FlightStreamChunk out, reader_->Next());
    if (out.data == nullptr)
      ended_ = true;
    else
      watch_.arrived(size_of(*out.data));
    return out;
  }
  void read_to_its_end() { ended_ = true; }
  std::string broken_off() const { return watch_.why(); }

private:
  static uint64_t size_of(const arrow::RecordBatch& batch) {
    const auto bytes = arrow::util::ReferencedBufferSize(batch);
    return std::max<uint64_t>(uint64_t(bytes.ValueOr(1)), 1);
  }

  std::unique_ptr<flight::FlightStreamWriter> writer_;
  std::unique_ptr<flight::FlightStreamReader> reader_;
  bool ended_ = false;
  stall_watch watch_; // destroyed first, because it may still cancel
};

class flight_client final : public chunk_client {
public:
  flight_client(std::string address, std::string token)
      : address_(std::move(address)), token_(std::move(token)) {}

  /// Opens the channel now: the first call is slow, and a wrong address or
  /// token should show early.
  void connect(std::chrono::milliseconds deadline) {
    const time_left left(deadline);
    flight::FlightClientOptions options =
        flight::FlightClientOptions::Defaults();
    // No web proxy, and no connection back-off from earlier attempts. And only
    // so much on its way that nobody has asked to read: it would stand before
    // gradients in the queue of a link.
    options.generic_options = {{"grpc.enable_http_proxy", 0},
                               {"grpc.use_local_subchannel_pool", 1},
                               {"grpc.http2.bdp_probe", 0},
                               {"grpc.http2.lookahead_bytes", window_bytes}};
    const std::string what = "saying hello";
    const std::string late = "no answer within " + left.text();
    const flight::Location location =
        take(flight::Location::Parse("grpc+tcp://" + address_), late, what);
    client_ =
        take(flight::FlightClient::Connect(location, options), late, what);
    flight::Action hello{hello_action, arrow::Buffer::FromString(token_)};
    auto results = take(client_->DoAction(left.options(), hello), late, what);
    // The reply is complete only when the stream ends.
    while (take(results->Next(), late, what) != nullptr) {
    }
  }

  void fetch(
      data_part part, std::span<const ledger::chunk_info> chunks,
      const ledger::row_shape& row, const bulk_watch& how,
      const std::function<void(chunk_ptr)>& arrived,
      const std::function<void(const ledger::chunk_info&)>& damaged) override {
    std::vector<const ledger::chunk_info*> missing;
    for (const ledger::chunk_info& chunk : chunks)
      missing.push_back(&chunk);
    for (int attempt = 1; !missing.empty(); ++attempt) {
      missing = fetch_once(part, missing, row, how, arrived, damaged);
      if (!missing.empty() && attempt == attempts_max)
        throw ballast_error(
            errc::invalid_data,
            name(part, *missing[0]) + " from " + address_ +
                " arrived damaged " + std::to_string(attempts_max) +
                " times (its checksum is not " + missing[0]->checksum +
                "); prepare the data again, or look at that machine");
    }
  }

  chunk_ptr fetch_rows(data_part part, std::span<const ledger::row_ref> rows,
                       const ledger::row_shape& row,
                       const bulk_watch& how) override {
    for (int attempt = 1; attempt <= attempts_max; ++attempt)
      if (chunk_ptr out = fetch_rows_once(part, rows, row, how))
        return out;
    throw ballast_error(errc::invalid_data,
                        std::to_string(rows.size()) + " rows of " +
                            to_string(part) + " from " + address_ +
                            " arrived damaged " + std::to_string(attempts_max) +
                            " times; look at that machine");
  }

  std::string fetch_blob(const std::string& blob,
                         const bulk_watch& how) override {
    for (int attempt = 1; attempt <= attempts_max; ++attempt) {
      std::string out;
      if (fetch_blob_once(blob, how, out))
        return out;
    }
    throw ballast_error(errc::invalid_data, "'" + blob + "' from " + address_ +
                                                " arrived damaged " +
                                                std::to_string(attempts_max) +
                                                " times");
  }

private:
  flight::FlightClient::DoExchangeResult open(const flight_ticket& ticket,
                                              const std::string& what) {
    flight::FlightCallOptions options; // no timeout: see watch_
    options.read_options.ensure_alignment =
        arrow::ipc::Alignment::kDataTypeSpecificAlignment;
    return take(client_->DoExchange(
                    options, flight::FlightDescriptor::Command(encode(ticket))),
                "", what);
  }

  /// Passes on intact chunks; reports the others at once, since the stream may
  /// break off after them, and returns them.
  std::vector<const ledger::chunk_info*>
  fetch_once(data_part part,
             const std::vector<const ledger::chunk_info*>& chunks,
             const ledger::row_shape& row, const bulk_watch& how,
             const std::function<void(chunk_ptr)>& arrived,
             const std::function<void(const ledger::chunk_info&)>& damaged) {
    std::vector<uint64_t> ids;
    ids.reserve(chunks.size());
    uint64_t expected_bytes = 0;
    for (const ledger::chunk_info* chunk : chunks) {
      ids.push_back(value(chunk->id));
      expected_bytes += chunk->bytes;
    }
    bulk_stream stream(
        open({token_, part, ledger::compress(ids), ""}, name(part, *chunks[0])),
        how, expected_bytes, 1);
    (void)take(stream.schema(), stream, name(part, *chunks[0]));
    std::vector<const ledger::chunk_info*> again;
    std::shared_ptr<arrow::RecordBatch> batch;
    chunk_ptr several; // what is in the batch; null: it is damaged
    int64_t at = 0;    // rows of the batch that are read
    for (const ledger::chunk_info* expected : chunks) {
      if (batch == nullptr || at >= batch->num_rows()) {
        batch = next_batch(stream, name(part, *expected));
        if (batch == nullptr)
          throw ballast_error(errc::unreachable, address_ +
                                                     " ended early, before " +
                                                     name(part, *expected));
        several = readable(expected->id, row, batch);
        at = 0;
      }
      if (chunk_ptr chunk = whole_chunk(*expected, row, several, at)) {
        arrived(std::move(chunk));
      } else {
        again.push_back(expected);
        if (damaged)
          damaged(*expected);
      }
      at += expected->rows;
    }
    stream.read_to_its_end();
    return again;
  }

  /// Null if they arrived damaged.
  chunk_ptr fetch_rows_once(data_part part,
                            std::span<const ledger::row_ref> rows,
                            const ledger::row_shape& row,
                            const bulk_watch& how) {
    const std::string what =
        std::to_string(rows.size()) + " rows of " + to_string(part);
    flight_ticket ticket{token_, part, {}, "", {rows.begin(), rows.end()}};
    const uint64_t each = row_bytes(row) + sizeof(int32_t) + sizeof(uint64_t);
    bulk_stream stream(open(ticket, what), how, rows.size() * each, 1);
    const auto schema = take(stream.schema(), stream, what);
    auto batch = next_batch(stream, what);
    if (batch == nullptr)
      throw ballast_error(errc::unreachable,
                          address_ + " ended early, before " + what);
    stream.read_to_its_end();
    if (schema->metadata() == nullptr)
      return nullptr;
    const std::string sum =
        schema->metadata()->Get(rows_checksum_key).ValueOr("");
    chunk_ptr out = readable(rows[0].chunk, row, std::move(batch));
    const bool whole =
        out && out->rows == rows.size() && checksum(*out, row) == sum;
    return whole ? out : nullptr;
  }

  /// One chunk, joined from its messages; null at the end.
  std::shared_ptr<arrow::RecordBatch> next_batch(bulk_stream& stream,
                                                 const std::string& what) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
    for (;;) {
      flight::FlightStreamChunk next = take(stream.next(), stream, what);
      if (next.data == nullptr)
        return nullptr;
      parts.push_back(std::move(next.data));
      if (next.app_metadata == nullptr ||
          next.app_metadata->ToString() != more_follows)
        break;
    }
    if (parts.size() == 1)
      return std::move(parts[0]);
    return take(arrow::ConcatenateRecordBatches(parts), stream, what);
  }

  /// Null if its columns are not those of the set.
  static chunk_ptr readable(chunk_id first, const ledger::row_shape& row,
                            std::shared_ptr<arrow::RecordBatch> batch) {
    try {
      return make_chunk(first, row, std::move(batch));
    } catch (const ballast_error&) {
      return nullptr;
    }
  }

  /// What begins at row `at`; null if it is not the expected chunk.
  static chunk_ptr whole_chunk(const ledger::chunk_info& expected,
                               const ledger::row_shape& row,
                               const chunk_ptr& several, int64_t at) {
    if (!several || at + int64_t{expected.rows} > int64_t{several->rows})
      return nullptr;
    chunk_ptr chunk = several;
    if (several->id != expected.id || several->rows != expected.rows)
      chunk =
          chunk_within(*several, expected.id, uint32_t(at), expected.rows, row);
    return checksum(*chunk, row) == expected.checksum
               ? compact(std::move(chunk))
               : nullptr;
  }

  bool fetch_blob_once(const std::string& blob, const bulk_watch& how,
                       std::string& out) {
    const std::string what = "'" + blob + "'";
    flight_ticket ticket;
    ticket.token = token_;
    ticket.blob = blob;
    bulk_stream stream(open(ticket, what), how, 0, blob_preparation);
    const auto schema = take(stream.schema(), stream, what);
    if (schema->metadata() == nullptr || schema->num_fields() != 1 ||
        schema->field(0)->type()->id() != arrow::Type::UINT8)
      return false;
    reserve(out, *schema->metadata());
    for (;;) {
      const flight::FlightStreamChunk next = take(stream.next(), stream, what);
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

  /// A size announced by the network is trusted only up to a limit.
  static void reserve(std::string& out,
                      const arrow::KeyValueMetadata& metadata) {
    constexpr uint64_t believed_max = uint64_t{1} << 30;
    const std::string text = metadata.Get(blob_bytes_key).ValueOr("0");
    uint64_t bytes = 0;
    std::from_chars(text.data(), text.data() + text.size(), bytes);
    out.reserve(std::min(bytes, believed_max));
  }

  static std::string name(data_part part, const ledger::chunk_info& chunk) {
    return "chunk " + to_string(chunk.id) + " of " + to_string(part);
  }

  /// The value, or ballast_error that names the peer: unreachable, or
  /// invalid_data if what it holds is damaged there.
  template <class T>
  T take(arrow::Result<T> result, const std::string& late,
         const std::string& what) const {
    if (!result.ok())
      refuse(result.status(), late, what);
    return std::move(result).ValueUnsafe();
  }
  template <class T>
  T take(arrow::Result<T> result, const bulk_stream& of,
         const std::string& what) const {
    if (!result.ok())
      refuse(result.status(), of.broken_off(), what);
    return std::move(result).ValueUnsafe();
  }

  /// `late`: why this side cancelled the call, if it did.
  [[noreturn]] void refuse(const arrow::Status& status, const std::string& late,
                           const std::string& what) const {
    const auto detail = flight::FlightStatusDetail::UnwrapStatus(status);
    std::string why = in_our_words(status.message());
    auto is = [&](flight::FlightStatusCode code) {
      return detail != nullptr && detail->code() == code;
    };
    const bool cancelled =
        status.IsCancelled() || is(flight::FlightStatusCode::Cancelled);
    if (is(flight::FlightStatusCode::TimedOut) || (cancelled && !late.empty()))
      why = late;
    else if (is(flight::FlightStatusCode::Unauthenticated))
      why = "it serves another run (its token differs)";
    else if (is(flight::FlightStatusCode::Unavailable))
      why = "nothing answers there, or the connection broke off";
    else if (cancelled)
      why = "the transfer was broken off";
    throw ballast_error(status.IsSerializationError() ? errc::invalid_data
                                                      : errc::unreachable,
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

} // namespace ballast::data
