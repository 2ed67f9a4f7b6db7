/// httplib's server behind an http_gate. Includes httplib; for http_server.cpp
/// only.
#pragma once

#include "monitor/http/http_gate.hpp"

#include <httplib.h>
#include <memory>
#include <sys/socket.h>

namespace ballast {

/// httplib accepts connections and answers whole requests; what lies between is
/// the gate's.
class gated_server : public httplib::Server {
public:
  std::unique_ptr<http_gate> gate;

  /// httplib listens with room for 5 connections that wait to be accepted; one
  /// more waits a second for TCP to try again.
  void accept_more() { ::listen(svr_sock_, waiting_max); }

  void answer(httplib::Stream& stream) {
    bool closed = false;
    process_request(stream, /*close_connection=*/true, closed, {});
  }

private:
  static constexpr int waiting_max = 128;

  bool process_and_close_socket(socket_t socket) override {
    gate->admit(socket);
    return true;
  }
};

/// httplib gives each connection to a queue of its threads; the gate has its
/// own.
class no_queue : public httplib::TaskQueue {
public:
  void enqueue(std::function<void()> admit) override { admit(); }
  void shutdown() override {}
};

} // namespace ballast
