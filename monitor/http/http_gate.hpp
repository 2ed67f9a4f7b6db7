/// Separates the connections of an HTTP server from its threads. One thread
/// reads every request by poll, with a deadline and limits, and only a complete
/// one goes to a thread of the pool; its answer is written by poll too. So
/// connections that send or read slowly, however many, block no thread. At the
/// limit of connections, the one that has waited longest for its request is
/// closed.
///
/// A stream (server-sent events) has its socket and a thread of its own.
#pragma once

#include "monitor/http/http_intake.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace ballast::monitor {

struct gate_limits {
  intake_limits request;
  size_t threads = 16;
  size_t connections_max = 256;
  std::chrono::milliseconds header_deadline{5000};   // since the connection
  std::chrono::milliseconds request_deadline{10000}; // since the connection
  std::chrono::milliseconds write_deadline{10000};   // of a whole answer
};

struct gate_handlers {
  /// Produces the complete answer to a complete request. On a thread of the
  /// pool.
  std::function<std::string(const std::string& request)> answer;
  /// Whether a request for this target needs the socket.
  std::function<bool(std::string_view target)> is_stream;
  /// Writes to the socket, which is non-blocking and which the gate closes.
  std::function<void(const std::string& request, int socket)> stream;
  /// The complete answer to a request refused by the gate: status, reason.
  std::function<std::string(int status, const std::string& why)> refusal;
};

class http_gate {
public:
  http_gate(gate_limits limits, gate_handlers handlers);
  ~http_gate(); // stop()

  /// Takes over a connected socket. Any thread; never blocks.
  void admit(int socket);
  /// Drops incomplete requests, finishes the others, joins every thread.
  /// Streams must have been told to end. Idempotent.
  void stop();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace ballast::monitor
