/// httplib's server behind an http_gate. Includes httplib; for http_server.cpp
/// only.
#pragma once

#include "monitor/http/http_gate.hpp"

#include <httplib.h>
#include <memory>
#include <sys/socket.h>

namespace ballast::monitor {

/// httplib accepts connections and answers complete requests; the gate does
/// everything between.
class gated_server : public httplib::Server {
public:
  std::unique_ptr<http_gate> gate;

  /// httplib listens with a backlog of 5; a connection beyond it waits a second
  /// until TCP retries.
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

/// httplib queues each connection for its threads; the gate replaces that.
class no_queue : public httplib::TaskQueue {
public:
  void enqueue(std::function<void()> admit) override { admit(); }
  void shutdown() override {}
};

} // namespace ballast::monitor
