/// The HTTP server of a process: metrics and health of every process, and the
/// control interface of the coordinator. Plain HTTP; the caller decides which
/// clients may reach which routes, see `authorize`.
///
/// Handlers run on the server's own threads, several at once. A handler that
/// throws answers 500. No foreign web page can control a run: /v1/*, / and
/// /page/* check the Host header, and POST checks Origin and the content type.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace ballast::monitor {

class event_log;
struct series_query;

struct http_address {
  std::string host;
  uint16_t port = 0;
};
/// "127.0.0.1:8080", "[::1]:8080".
std::string to_string(const http_address& address);

struct http_reply {
  int status = 200;
  std::string body; // JSON
};

/// The handlers of the routes. An empty function means that the route does not
/// exist.
struct http_handlers {
  /// GET /metrics: Prometheus text. Required.
  std::function<std::string()> metrics;
  /// GET /healthz, /readyz: nothing if healthy, else the reason (503).
  std::function<std::optional<std::string>()> unhealthy;
  std::function<std::optional<std::string>()> not_ready;

  // -- coordinator only ---
  /// GET /v1/status, /v1/targets, /v1/schema.
  std::function<nlohmann::json()> status;
  std::function<nlohmann::json()> targets;
  std::function<nlohmann::json()> schema;
  /// GET /v1/series: how the run went, as series_query asks; no names: which
  /// there are.
  std::function<nlohmann::json(const series_query&)> series;
  /// POST /v1/control: the body of the request, at most `body_bytes_max`.
  std::function<http_reply(const std::string& body)> control;
  /// GET /v1/events. Called for every request, because a node's log changes
  /// with its job; null = no run yet (404).
  std::function<std::shared_ptr<event_log>()> events;

  /// Given the Authorization header (empty if absent): may this request use
  /// /v1/* and /? Empty function = every request may.
  std::function<bool(std::string_view)> authorize;
};

struct http_limits {
  size_t threads = 16;
  size_t event_streams_max = 8; // then 503; below `threads`
  size_t body_bytes_max = 1 << 20;
  /// Open at once; one more closes the connection whose request is late the
  /// longest.
  size_t connections_max = 256;
  /// Since the connection was accepted: the header, the complete request. Then
  /// 408. Headers over 32 KiB, or a line over 8 KiB, are 431.
  std::chrono::milliseconds header_deadline{5000};
  std::chrono::milliseconds request_deadline{10000};
};

class http_server {
public:
  http_server();
  ~http_server(); // stop()

  /// Binds, and serves on its own threads when it returns. Port 0 takes a free
  /// one. Throws ballast_error: port_in_use (naming host:port), usage if the
  /// host is not one of this machine.
  http_address start(const std::string& host, uint16_t port,
                     http_handlers handlers, http_limits limits = {});
  /// Ends event streams, finishes requests, joins every thread. No handler runs
  /// after it. Idempotent.
  void stop();

private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Body of an error reply in the form of the control interface.
std::string error_body(std::string_view code, std::string_view message);

/// The library's version, for `ballast doctor`.
std::string http_library_version();

} // namespace ballast::monitor
