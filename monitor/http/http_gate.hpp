/// Stands between the connections of an HTTP server and its threads. One
/// thread reads every request by poll, with a deadline and limits, and only a
/// whole one is given to a thread of the pool; that thread's answer is written
/// by poll too. So connections that send or read slowly, however many, keep no
/// thread from those that do not. Where there are too many, the one that has
/// waited longest for its request goes.
///
/// A stream (server-sent events) has its socket and a thread of its own.
#pragma once

#include "monitor/http/http_intake.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace ballast {

struct gate_limits {
  intake_limits request;
  size_t threads = 16;
  size_t connections_max = 256;
  std::chrono::milliseconds header_deadline{5000};   // since it connected
  std::chrono::milliseconds request_deadline{10000}; // since it connected
  std::chrono::milliseconds write_deadline{10000};   // of a whole answer
};

struct gate_handlers {
  /// The whole answer to a whole request. On a thread of the pool.
  std::function<std::string(const std::string& request)> answer;
  /// Does this target of a request need the socket?
  std::function<bool(std::string_view target)> is_stream;
  /// Writes to the socket, which does not block and which the gate closes.
  std::function<void(const std::string& request, int socket)> stream;
  /// The whole answer to what is refused here: status, reason.
  std::function<std::string(int status, const std::string& why)> refusal;
};

class http_gate {
public:
  http_gate(gate_limits limits, gate_handlers handlers);
  ~http_gate(); // stop()

  /// Takes over a connected socket. Any thread; waits for nothing.
  void admit(int socket);
  /// Ends what is not a whole request yet, finishes the others, joins every
  /// thread. Streams must have been told to end. Safe to repeat.
  void stop();

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace ballast
