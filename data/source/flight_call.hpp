/// Calls to one Flight server that end: each waits only so long for the
/// server's next word, and can be cancelled at any moment. (FlightClient has
/// deadlines for whole streams alone, and none of its own cancels a stream
/// before its first message.) Includes Arrow; for source files of data/ only.
///
/// What goes wrong is a flight_failure in the server's words, which the owner
/// turns into an error of the job. A connection is used by one thread; its
/// cancel() and that of its rows by any.
#pragma once

#include "data/source/wait_limit.hpp"

#include <arrow/flight/types.h>
#include <arrow/type_fwd.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace arrow::flight::internal {
class ClientTransport;
}

namespace ballast::data {

enum class flight_fault : uint8_t {
  away,    // nobody answers, or the connection broke
  late,    // the server says nothing
  failed,  // it could not do it this time
  denied,  // to us
  refused, // as it would be the next time
  wrong,   // what came is no sound Arrow
};

class flight_failure : public std::runtime_error {
public:
  flight_failure(flight_fault fault, const std::string& words)
      : std::runtime_error(words), fault_(fault) {}
  flight_fault fault() const { return fault_; }
  /// Another attempt may succeed.
  bool may_pass() const { return fault_ <= flight_fault::failed; }

private:
  flight_fault fault_;
};

/// How a server is called, and who calls.
struct flight_access {
  std::string user;   // empty: the secret is a bearer token
  std::string secret; // empty: none
  std::string tls_certificates;
  std::chrono::milliseconds patience{60'000}; // without a message
  /// A server may have to compute before its first one.
  int first_patience = 5;
};

/// User and password as they travel; empty without them.
std::string basic_credentials(const flight_access& access);

/// The rows behind one ticket, read once, in order.
class flight_rows {
public:
  virtual ~flight_rows() = default;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  /// Null at the end; an empty batch may come before. Checked in full.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
};

class flight_connection {
public:
  /// grpc+tcp://host:port or grpc+tls://host:port. Connects with the first
  /// call.
  flight_connection(std::string location, const flight_access& access);
  ~flight_connection();
  flight_connection(const flight_connection&) = delete;
  flight_connection& operator=(const flight_connection&) = delete;

  std::unique_ptr<arrow::flight::FlightInfo>
  info(const arrow::flight::FlightDescriptor& what);
  /// The connection must outlive them.
  std::unique_ptr<flight_rows> rows(const arrow::flight::Ticket& ticket);
  /// Ends the call that is under way, and those to come.
  void cancel();

private:
  class open_rows;
  using headers = std::vector<std::pair<std::string, std::string>>;
  void authenticate();

  const std::string location_;
  const flight_access access_;
  std::unique_ptr<arrow::flight::internal::ClientTransport> transport_;
  headers headers_;
  bool authenticated_ = false;
  std::mutex mutex_;
  bool cancelled_ = false;
  std::function<void()> cancel_call_; // of the call that is under way
};

} // namespace ballast::data
