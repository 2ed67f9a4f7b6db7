#include "data/transfer/chunk_service.hpp"

#include "data/store/picked_rows.hpp"
#include "data/transfer/flight_ticket.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/flight/server.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/byte_size.h>
#include <atomic>
#include <cstdlib>
#include <utility>

namespace ballast::data {

namespace flight = arrow::flight;

namespace {

/// gRPC writes its own lines to stderr, where the last line must be our reason.
/// Set at load time, before there are threads; a value set by the user stays.
[[maybe_unused]] const int grpc_is_quiet =
    ::setenv("GRPC_VERBOSITY", "NONE", 0);

constexpr int64_t message_bytes = int64_t(bulk_message_bytes);
/// Smaller chunks share messages of about this size.
constexpr uint64_t shared_message_bytes = 256 << 10;

/// What is damaged where it is held is so for whoever asks again, which the
/// client tells from what may pass by.
arrow::Status refusal(const std::exception& error) {
  const auto* known = dynamic_cast<const ballast_error*>(&error);
  return known != nullptr && known->what_failed().code == errc::invalid_data
             ? arrow::Status::SerializationError(error.what())
             : arrow::Status::UnknownError(error.what());
}

/// Reads one chunk after another while the stream is written, so that a long
/// ticket costs no memory. Small chunks that follow each other share a message:
/// a message costs as much as the copy of a few hundred rows.
class chunk_reader final : public arrow::RecordBatchReader {
public:
  chunk_reader(flight_ticket ticket, chunk_service::finder find,
               chunk_ptr first)
      : ticket_(std::move(ticket)), find_(std::move(find)),
        schema_(first->schema), next_(std::move(first)) {}

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  arrow::Status ReadNext(std::shared_ptr<arrow::RecordBatch>* out) override {
    *out = nullptr;
    std::vector<std::shared_ptr<arrow::RecordBatch>> several;
    uint64_t bytes = 0;
    while (bytes < shared_message_bytes) {
      if (!next_ && failed_.ok())
        failed_ = find_next();
      // What was found before travels first.
      if (!next_ ||
          (!several.empty() && bytes + next_->bytes > shared_message_bytes))
        break;
      bytes += next_->bytes;
      several.push_back(batch_of(*std::exchange(next_, nullptr)));
    }
    if (several.empty())
      return failed_;
    if (several.size() > 1)
      return arrow::ConcatenateRecordBatches(several).Value(out);
    *out = std::move(several[0]);
    return arrow::Status::OK();
  }

  static arrow::Status missing(data_part part, chunk_id id) {
    return arrow::Status::KeyError("chunk ", to_string(id), " of ",
                                   to_string(part), " is not held here");
  }

private:
  /// The chunk after the one that was taken last, if there is one.
  arrow::Status find_next() {
    if (run_ == ticket_.chunks.size())
      return arrow::Status::OK();
    if (++at_ == ticket_.chunks[run_].count) {
      ++run_;
      at_ = 0;
    }
    if (run_ == ticket_.chunks.size())
      return arrow::Status::OK();
    const auto id = chunk_id(uint32_t(ticket_.chunks[run_].first + at_));
    try {
      next_ = find_(ticket_.part, id);
    } catch (const std::exception& error) {
      return refusal(error);
    }
    return next_ ? arrow::Status::OK() : missing(ticket_.part, id);
  }

  flight_ticket ticket_;
  chunk_service::finder find_;
  std::shared_ptr<arrow::Schema> schema_;
  chunk_ptr next_;       // found, and not taken
  arrow::Status failed_; // what comes after it
  size_t run_ = 0;       // of the chunk that was found last
  uint64_t at_ = 0;
};

/// All rows in one batch, in the order of the ticket. Each chunk is looked up
/// once if its rows follow each other.
arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>
rows_reader(const flight_ticket& ticket, const chunk_service::finder& find) {
  picked_rows rows(ticket.rows.size());
  chunk_ptr held;
  for (const ledger::row_ref& one : ticket.rows) {
    if (!held || held->id != one.chunk)
      held = find(ticket.part, one.chunk);
    if (!held)
      return chunk_reader::missing(ticket.part, one.chunk);
    if (one.row >= held->rows)
      return arrow::Status::KeyError("row ", std::to_string(one.row),
                                     " of chunk ", to_string(one.chunk), " of ",
                                     to_string(ticket.part), ", which has ",
                                     std::to_string(held->rows));
    rows.add(*held, one.row);
  }
  std::shared_ptr<arrow::RecordBatch> all = rows.take();
  all = all->ReplaceSchemaMetadata(
      arrow::KeyValueMetadata::Make({rows_checksum_key}, {checksum(*all)}));
  const auto schema = all->schema();
  return arrow::RecordBatchReader::Make({std::move(all)}, schema);
}

arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>
blob_reader(std::string content) {
  const int64_t bytes = int64_t(content.size());
  auto metadata = arrow::KeyValueMetadata::Make(
      {blob_bytes_key, blob_checksum_key},
      {std::to_string(bytes), checksum(content.data(), content.size())});
  const std::shared_ptr<arrow::Schema> schema =
      arrow::schema({arrow::field("bytes", arrow::uint8(), false)}, metadata);
  auto all = std::make_shared<arrow::UInt8Array>(
      bytes, arrow::Buffer::FromString(std::move(content)));
  std::vector<std::shared_ptr<arrow::RecordBatch>> parts;
  for (int64_t at = 0; at < bytes; at += message_bytes) {
    const int64_t part = std::min(message_bytes, bytes - at);
    parts.push_back(
        arrow::RecordBatch::Make(schema, part, {all->Slice(at, part)}));
  }
  return arrow::RecordBatchReader::Make(std::move(parts), schema);
}

/// In messages small enough to show progress.
arrow::Status write_in_parts(const arrow::RecordBatch& batch,
                             flight::FlightMessageWriter& out) {
  const int64_t rows = batch.num_rows();
  ARROW_ASSIGN_OR_RAISE(const int64_t bytes,
                        arrow::util::ReferencedBufferSize(batch));
  if (bytes <= message_bytes || rows <= 1)
    return out.WriteRecordBatch(batch);
  const int64_t parts = (bytes + message_bytes - 1) / message_bytes;
  const int64_t step = std::max<int64_t>(rows / parts, 1);
  int64_t at = 0;
  for (; at + step < rows; at += step)
    ARROW_RETURN_NOT_OK(out.WriteWithMetadata(
        *batch.Slice(at, step), arrow::Buffer::FromString(more_follows)));
  return out.WriteRecordBatch(*batch.Slice(at));
}

arrow::Status refuse_token() {
  return flight::MakeFlightError(flight::FlightStatusCode::Unauthenticated,
                                 "this is the data of another run");
}

class flight_server final : public flight::FlightServerBase {
public:
  flight_server(std::string token, chunk_service::finder find,
                chunk_service::blob_finder find_blob)
      : token_(std::move(token)), find_(std::move(find)),
        find_blob_(std::move(find_blob)) {}

  arrow::Status
  DoExchange(const flight::ServerCallContext&,
             std::unique_ptr<flight::FlightMessageReader> request,
             std::unique_ptr<flight::FlightMessageWriter> out) override {
    // A finder may throw, but gRPC's threads must never see an exception.
    try {
      ARROW_ASSIGN_OR_RAISE(auto reader, answer(request->descriptor().cmd));
      ARROW_RETURN_NOT_OK(out->Begin(reader->schema()));
      for (;;) {
        std::shared_ptr<arrow::RecordBatch> batch;
        ARROW_RETURN_NOT_OK(reader->ReadNext(&batch));
        if (batch == nullptr)
          return out->Close();
        ARROW_RETURN_NOT_OK(write_in_parts(*batch, *out));
      }
    } catch (const std::exception& error) {
      return refusal(error);
    }
  }

  arrow::Status DoAction(const flight::ServerCallContext&,
                         const flight::Action& action,
                         std::unique_ptr<flight::ResultStream>* out) override {
    if (action.type != hello_action)
      return arrow::Status::NotImplemented("unknown action ", action.type);
    const std::string token =
        action.body != nullptr ? action.body->ToString() : "";
    if (!same_token(token, token_))
      return refuse_token();
    *out = std::make_unique<flight::SimpleResultStream>(
        std::vector<flight::Result>{});
    return arrow::Status::OK();
  }

private:
  arrow::Result<std::shared_ptr<arrow::RecordBatchReader>>
  answer(const std::string& text) const {
    std::string why;
    const std::optional<flight_ticket> ticket = decode_ticket(text, why);
    if (!ticket)
      return arrow::Status::Invalid(why);
    if (!same_token(ticket->token, token_))
      return refuse_token();
    if (!ticket->blob.empty()) {
      std::optional<std::string> content =
          find_blob_ ? find_blob_(ticket->blob) : std::nullopt;
      if (!content)
        return arrow::Status::KeyError("'", ticket->blob, "' is not held here");
      return blob_reader(std::move(*content));
    }
    if (!ticket->rows.empty())
      return rows_reader(*ticket, find_);
    const auto id = chunk_id(uint32_t(ticket->chunks[0].first));
    chunk_ptr first = find_(ticket->part, id);
    if (first == nullptr)
      return chunk_reader::missing(ticket->part, id);
    return std::make_shared<chunk_reader>(*ticket, find_, std::move(first));
  }

  const std::string token_;
  const chunk_service::finder find_;
  const chunk_service::blob_finder find_blob_;
};

class running_service final : public chunk_service {
public:
  running_service(const std::string& host, std::unique_ptr<flight_server> made)
      : server_(std::move(made)),
        address_(host + ":" + std::to_string(server_->port())) {}

  ~running_service() override { shutdown(std::chrono::seconds(1)); }

  std::string address() const override { return address_; }

  void shutdown(std::chrono::milliseconds deadline) override {
    if (down_.exchange(true))
      return;
    const auto until = std::chrono::system_clock::now() + deadline;
    // It fails only if the server is already down.
    (void)server_->Shutdown(&until);
    (void)server_->Wait();
  }

private:
  std::unique_ptr<flight_server> server_;
  std::string address_;
  std::atomic<bool> down_{false};
};

} // namespace

std::unique_ptr<chunk_service> chunk_service::start(const std::string& host,
                                                    uint16_t port,
                                                    const std::string& token,
                                                    finder find,
                                                    blob_finder find_blob) {
  const std::string where = host + ":" + std::to_string(port);
  auto refuse = [&](const arrow::Status& status) {
    throw ballast_error(errc::port_in_use,
                        "cannot listen on " + where +
                            " for data: " + status.message() +
                            "; choose another port, or 0 for any");
  };
  const arrow::Result<flight::Location> location =
      flight::Location::ForGrpcTcp(host, port);
  if (!location.ok())
    refuse(location.status());
  auto server = std::make_unique<flight_server>(token, std::move(find),
                                                std::move(find_blob));
  const arrow::Status status =
      server->Init(flight::FlightServerOptions(*location));
  if (!status.ok())
    refuse(status);
  return std::make_unique<running_service>(host, std::move(server));
}

} // namespace ballast::data
