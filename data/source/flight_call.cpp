#include "data/source/flight_call.hpp"

#include "data/base/flight_words.hpp"
#include "data/source/stream_file.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/flight/client.h>
#include <arrow/flight/transport.h>
#include <arrow/flight/types_async.h>
#include <arrow/ipc/message.h>
#include <arrow/ipc/reader.h>
#include <arrow/util/base64.h>
#include <arrow/util/uri.h>

#include <future>
#include <optional>

namespace ballast::data {

namespace flight = arrow::flight;

namespace {

constexpr std::chrono::seconds longest_handshake{20};
constexpr int longest_connect_ms = 10'000;

std::string words_of_server(const arrow::Status& status) {
  const std::string text = words_in_flight_error(status.message());
  constexpr size_t characters_max = 600;
  return text.empty() ? "no reason given" : printable(text, characters_max);
}

flight_fault fault_of(flight::TransportStatusCode code) {
  switch (code) {
  case flight::TransportStatusCode::kUnavailable:
    return flight_fault::away;
  case flight::TransportStatusCode::kTimedOut:
    return flight_fault::late;
  case flight::TransportStatusCode::kUnauthenticated:
  case flight::TransportStatusCode::kUnauthorized:
    return flight_fault::denied;
  case flight::TransportStatusCode::kInvalidArgument:
  case flight::TransportStatusCode::kNotFound:
  case flight::TransportStatusCode::kUnimplemented:
    return flight_fault::refused;
  default:
    return flight_fault::failed;
  }
}

flight_fault fault_of(const arrow::Status& status) {
  // Only asynchronous calls have this one.
  if (const auto detail = flight::TransportStatusDetail::Unwrap(status))
    return fault_of(detail->get().code());
  if (const auto detail = flight::FlightStatusDetail::UnwrapStatus(status)) {
    switch (detail->code()) {
    case flight::FlightStatusCode::Unavailable:
      return flight_fault::away;
    case flight::FlightStatusCode::TimedOut:
      return flight_fault::late;
    case flight::FlightStatusCode::Unauthenticated:
    case flight::FlightStatusCode::Unauthorized:
      return flight_fault::denied;
    case flight::FlightStatusCode::Internal:
    case flight::FlightStatusCode::Cancelled:
    case flight::FlightStatusCode::Failed:
      return flight_fault::failed;
    }
  }
  return status.IsKeyError() || status.IsInvalid() || status.IsNotImplemented()
             ? flight_fault::refused
             : flight_fault::failed;
}

void check_call(const arrow::Status& status) {
  if (!status.ok())
    throw flight_failure(fault_of(status), words_of_server(status));
}

template <class T>
T take_call(arrow::Result<T> result) {
  check_call(result.status());
  return std::move(result).ValueUnsafe();
}

[[noreturn]] void fail_late(std::chrono::milliseconds waited) {
  throw flight_failure(flight_fault::late, "the server has sent nothing for " +
                                               std::to_string(waited.count()) +
                                               " ms");
}

/// gRPC's transport of Flight; a client must have been made before it is known.
std::unique_ptr<flight::internal::ClientTransport>
transport_to(const flight::Location& location) {
  static std::once_flag once;
  std::call_once(once, [&] {
    (void)flight::FlightClient::Connect(location); // connects nowhere yet
  });
  return take_call(flight::internal::GetDefaultTransportRegistry()->MakeClient(
      location.scheme()));
}

/// Of the answer to one asynchronous call.
class info_listener final : public flight::AsyncListener<flight::FlightInfo> {
public:
  void OnNext(flight::FlightInfo message) override {
    found_.emplace(std::move(message));
  }
  void OnFinish(arrow::Status status) override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    done_.set_value(std::move(status));
  }
  /// Any thread. Flight forgets the call right after OnFinish().
  void cancel() {
    const std::lock_guard lock(mutex_);
    if (!over_)
      TryCancel();
  }
  std::future<arrow::Status> done() { return done_.get_future(); }
  std::optional<flight::FlightInfo>& found() { return found_; }

private:
  std::optional<flight::FlightInfo> found_;
  std::promise<arrow::Status> done_;
  std::mutex mutex_;
  bool over_ = false;
};

} // namespace

std::string basic_credentials(const flight_access& access) {
  return access.user.empty() || access.secret.empty()
             ? ""
             : arrow::util::base64_encode(access.user + ":" + access.secret);
}

/// One stream of a server, as Arrow's reader takes it.
class flight_connection::open_rows final : public flight_rows {
public:
  open_rows(flight_connection& by,
            std::unique_ptr<flight::internal::ClientDataStream> stream)
      : by_(by), stream_(std::move(stream)),
        limit_([this] { stream_->TryCancel(); }) {
    {
      const std::lock_guard lock(by_.mutex_);
      by_.cancel_call_ = [this] { stream_->TryCancel(); };
      if (by_.cancelled_)
        stream_->TryCancel();
    }
    try {
      arrow::ipc::IpcReadOptions options;
      options.memory_pool = limited_pool();
      options.ensure_alignment =
          arrow::ipc::Alignment::kDataTypeSpecificAlignment;
      reader_ = take(arrow::ipc::RecordBatchStreamReader::Open(
          std::make_unique<messages>(*this), options));
    } catch (...) {
      end();
      throw;
    }
  }
  ~open_rows() override { end(); }
  open_rows(const open_rows&) = delete;
  open_rows& operator=(const open_rows&) = delete;

  std::shared_ptr<arrow::Schema> schema() const override {
    return reader_->schema();
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> out;
    const arrow::Status read = reader_->ReadNext(&out);
    check(read);
    // Offsets of a wrong server would be followed anywhere.
    if (out != nullptr)
      check(out->ValidateFull());
    return out;
  }

private:
  class messages final : public arrow::ipc::MessageReader {
  public:
    explicit messages(open_rows& of) : of_(of) {}
    arrow::Result<std::unique_ptr<arrow::ipc::Message>>
    ReadNextMessage() override {
      return of_.read_message();
    }

  private:
    open_rows& of_;
  };

  arrow::Result<std::unique_ptr<arrow::ipc::Message>> read_message() {
    flight::internal::FlightData data;
    do {
      if (finished_)
        return nullptr;
      limit_.begin(patience());
      const bool read = stream_->ReadData(&data);
      limit_.end();
      if (!read) {
        finished_ = true;
        said_ = stream_->Finish(arrow::Status::OK());
        ARROW_RETURN_NOT_OK(said_);
        return nullptr;
      }
      first_ = false;
    } while (data.metadata == nullptr); // a note of the server's alone
    return data.OpenMessage();
  }

  std::chrono::milliseconds patience() const {
    return by_.access_.patience * (first_ ? by_.access_.first_patience : 1);
  }
  /// What the call ended with comes before what Arrow makes of it.
  void check(const arrow::Status& status) {
    if (status.ok())
      return;
    if (limit_.over())
      fail_late(patience());
    check_call(said_);
    throw flight_failure(flight_fault::wrong, words_of(status));
  }
  template <class T>
  T take(arrow::Result<T> result) {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

  void end() {
    {
      const std::lock_guard lock(by_.mutex_);
      by_.cancel_call_ = nullptr;
    }
    if (finished_)
      return;
    finished_ = true;
    stream_->TryCancel();
    (void)stream_->Finish(arrow::Status::OK());
  }

  flight_connection& by_;
  std::unique_ptr<flight::internal::ClientDataStream> stream_;
  wait_limit limit_; // ends before the stream
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  arrow::Status said_;
  bool finished_ = false;
  bool first_ = true;
};

flight_connection::flight_connection(std::string location,
                                     const flight_access& access)
    : location_(std::move(location)), access_(access) {
  const auto where = flight::Location::Parse(location_);
  arrow::util::Uri uri;
  if (!where.ok() || !uri.Parse(location_).ok())
    throw flight_failure(flight_fault::refused,
                         "'" + printable(location_, 300) +
                             "' is no address of a server");
  flight::FlightClientOptions options = flight::FlightClientOptions::Defaults();
  options.tls_root_certs = access_.tls_certificates;
  // A TCP connection of its own, so that several bring more than one; and an
  // end to connecting where nobody says no.
  options.generic_options = {
      {"grpc.use_local_subchannel_pool", 1},
      {"grpc.min_reconnect_backoff_ms", longest_connect_ms}};
  transport_ = transport_to(*where);
  check_call(transport_->Init(options, *where, uri));
}

flight_connection::~flight_connection() {
  (void)transport_->Close();
}

void flight_connection::cancel() {
  const std::lock_guard lock(mutex_);
  cancelled_ = true;
  if (cancel_call_)
    cancel_call_();
}

void flight_connection::authenticate() {
  if (authenticated_ || access_.secret.empty())
    return;
  if (access_.user.empty()) {
    headers_ = {{"authorization", "Bearer " + access_.secret}};
  } else {
    flight::FlightCallOptions options;
    options.timeout = longest_handshake;
    auto token = transport_->AuthenticateBasicToken(options, access_.user,
                                                    access_.secret);
    if (token.ok() && !token->first.empty())
      headers_ = {*token};
    else if (token.ok() || token.status().IsNotImplemented())
      headers_ = {{"authorization", "Basic " + basic_credentials(access_)}};
    else
      check_call(token.status());
  }
  authenticated_ = true;
}

std::unique_ptr<flight::FlightInfo>
flight_connection::info(const flight::FlightDescriptor& what) {
  authenticate();
  const std::chrono::milliseconds longest =
      access_.patience * access_.first_patience;
  flight::FlightCallOptions options;
  options.timeout = longest;
  options.headers = headers_;
  const auto listener = std::make_shared<info_listener>();
  std::future<arrow::Status> done = listener->done();
  transport_->GetFlightInfoAsync(options, what, listener);
  {
    const std::lock_guard lock(mutex_);
    cancel_call_ = [listener] { listener->cancel(); };
    if (cancelled_)
      listener->cancel();
  }
  const arrow::Status status = done.get();
  {
    const std::lock_guard lock(mutex_);
    cancel_call_ = nullptr;
  }
  if (!status.ok() && fault_of(status) == flight_fault::late)
    fail_late(longest);
  check_call(status);
  if (!listener->found())
    throw flight_failure(flight_fault::wrong, "the server's answer is empty");
  return std::make_unique<flight::FlightInfo>(*std::move(listener->found()));
}

std::unique_ptr<flight_rows>
flight_connection::rows(const flight::Ticket& ticket) {
  authenticate();
  flight::FlightCallOptions
      options; // no timeout: it would be the whole stream's
  options.headers = headers_;
  std::unique_ptr<flight::internal::ClientDataStream> stream;
  check_call(transport_->DoGet(options, ticket, &stream));
  return std::make_unique<open_rows>(*this, std::move(stream));
}

} // namespace ballast::data
