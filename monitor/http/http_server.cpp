#include "monitor/http/http_server.hpp"

#include "monitor/http/gated_server.hpp"
#include "monitor/http/http_access.hpp"
#include "monitor/http/http_bind.hpp"
#include "monitor/http/http_page.hpp"
#include "monitor/http/http_stream.hpp"
#include "monitor/http/series_request.hpp"
#include "monitor/logs/event_log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/thread_name.hpp"

#include <atomic>
#include <charconv>
#include <csignal>
#include <httplib.h>
#include <nlohmann/json.hpp>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace ballast::monitor {

namespace {

using httplib::Request;
using httplib::Response;
using handled = httplib::Server::HandlerResponse;

constexpr const char* events_path = "/v1/events";
constexpr const char* series_path = "/v1/series";
constexpr const char* json_type = "application/json";
constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";
/// How long a reader of events may accept nothing.
constexpr auto stream_patience = std::chrono::seconds(5);
/// How long an event stream may be silent before a comment tests whether the
/// reader is still connected.
constexpr auto stream_silence_max = std::chrono::seconds(5);
constexpr size_t events_per_write_max = 256;
/// The page runs its own script and contacts only its own server.
constexpr const char* page_policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'";

/// The request is answered on this thread with its socket available.
thread_local bool has_socket = false;

void refuse(Response& response, int status, std::string_view code,
            std::string_view message) {
  response.status = status;
  response.set_content(error_body(code, message), json_type);
}

std::string machine_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

/// The last event that a subscriber has seen; -1 if the request holds no
/// number.
int64_t seen_by(const Request& request) {
  // A browser that reconnects sends the header and the old query.
  std::string text = request.get_header_value("Last-Event-ID");
  if (text.empty())
    text = request.get_param_value("after");
  if (text.empty())
    return 0;
  int64_t seq = 0;
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), seq);
  bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && seq >= 0 ? seq : -1;
}

} // namespace

std::string to_string(const http_address& address) {
  bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" +
         std::to_string(address.port);
}

std::string error_body(std::string_view code, std::string_view message) {
  nlohmann::ordered_json body = {
      {"version", 1},
      {"id", nullptr},
      {"ok", false},
      {"error", {{"code", code}, {"message", message}}}};
  return json_text(body) + "\n";
}

std::string http_library_version() {
  return CPPHTTPLIB_VERSION;
}

struct http_server::state {
  http_address bound;
  http_handlers handlers;
  http_limits limits;
  std::string machine = machine_name();
  std::atomic<size_t> streams{0};
  std::stop_source stopping;
  gated_server server;
  std::thread listener;

  void configure();
  void make_gate();
  void add_routes();
  void add_coordinator_routes();
  /// Answers requests that must not be routed.
  handled guard(const Request& request, Response& response);
  void health(Response& response,
              const std::function<std::optional<std::string>()>& trouble);
  void control(const Request& request, Response& response,
               const httplib::ContentReader& read);
  void series(const Request& request, Response& response);
  void stream_events(const Request& request, Response& response);
};

void http_server::state::configure() {
  // httplib's default is SO_REUSEPORT, with which two processes share a port
  // unnoticed.
  server.set_socket_options([](socket_t socket) {
    int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    fcntl(socket, F_SETFD, FD_CLOEXEC);
  });
  server.set_tcp_nodelay(true);
  server.new_task_queue = [] { return new no_queue; }; // httplib deletes it
  server.set_payload_max_length(limits.body_bytes_max);
  server.set_default_headers(
      {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}});
  server.set_pre_routing_handler(
      [this](const Request& request, Response& response) {
        return guard(request, response);
      });
  server.set_exception_handler([](const Request&, Response& response,
                                  const std::exception_ptr& problem) {
    try {
      std::rethrow_exception(problem);
    } catch (const std::exception& error) {
      refuse(response, 500, "internal", error.what());
    } catch (...) {
      refuse(response, 500, "internal", "unknown exception");
    }
  });
  server.set_error_handler([this](const Request& request, Response& response) {
    if (!response.body.empty())
      return;
    if (response.status == 413)
      refuse(response, 413, "bad_request",
             "the body is larger than " +
                 std::to_string(limits.body_bytes_max) + " bytes");
    else if (response.status == 404)
      refuse(response, 404, "bad_request",
             "nothing answers " + request.method + " " + request.path +
                 " on this process");
    else
      refuse(response, response.status, "bad_request",
             "HTTP status " + std::to_string(response.status));
  });
}

void http_server::state::make_gate() {
  gate_limits its;
  its.request.body_bytes_max = limits.body_bytes_max;
  its.threads = limits.threads;
  its.connections_max = limits.connections_max;
  its.header_deadline = limits.header_deadline;
  its.request_deadline = limits.request_deadline;
  gate_handlers to;
  to.answer = [this](const std::string& request) {
    answer_stream stream(request);
    server.answer(stream);
    return std::move(stream.answer);
  };
  to.is_stream = [](std::string_view target) {
    return target.substr(0, target.find('?')) == events_path;
  };
  to.stream = [this](const std::string& request, int socket) {
    socket_stream stream(request, socket, stream_patience,
                         stopping.get_token());
    has_socket = true;
    server.answer(stream);
    has_socket = false;
  };
  to.refusal = [](int status, const std::string& why) {
    std::string body = error_body("bad_request", why);
    return "HTTP/1.1 " + std::to_string(status) +
           " Refused\r\nContent-Type: " + json_type +
           "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n" + body;
  };
  server.gate = std::make_unique<http_gate>(its, std::move(to));
}

handled http_server::state::guard(const Request& request, Response& response) {
  bool open = request.path == "/metrics" || request.path == "/healthz" ||
              request.path == "/readyz";
  if (open)
    return handled::Unhandled;
  std::string host = request.get_header_value("Host");
  if (!host_allowed(host, bound.host, machine)) {
    refuse(response, 403, "bad_request",
           "the Host header must name this server, " + to_string(bound) +
               "; it is '" + host + "'");
    return handled::Handled;
  }
  if (!origin_allowed(request.get_header_value("Origin"), host)) {
    refuse(response, 403, "bad_request",
           "requests of other web pages are refused: Origin is '" +
               request.get_header_value("Origin") + "'");
    return handled::Handled;
  }
  if (handlers.authorize &&
      !handlers.authorize(request.get_header_value("Authorization"))) {
    response.set_header("WWW-Authenticate", "Bearer");
    refuse(response, 401, "bad_request",
           "a token is needed: Authorization: Bearer TOKEN");
    return handled::Handled;
  }
  return handled::Unhandled;
}

void http_server::state::health(
    Response& response,
    const std::function<std::optional<std::string>()>& trouble) {
  std::optional<std::string> why = trouble ? trouble() : std::nullopt;
  response.status = why ? 503 : 200;
  response.set_content((why ? *why : "ok") + "\n", "text/plain; charset=utf-8");
}

void http_server::state::control(const Request& request, Response& response,
                                 const httplib::ContentReader& read) {
  // Before the body is read, because httplib parses some content types itself.
  if (!is_json_type(request.get_header_value("Content-Type"))) {
    refuse(response, 415, "bad_request",
           "the Content-Type must be application/json; it is '" +
               request.get_header_value("Content-Type") + "'");
    return;
  }
  std::string body;
  bool complete = read([&](const char* data, size_t size) {
    body.append(data, size);
    return body.size() <= limits.body_bytes_max;
  });
  if (!complete) {
    if (body.size() > limits.body_bytes_max)
      response.status = 413;
    return; // the error handler adds the text
  }
  http_reply reply = handlers.control(body);
  response.status = reply.status;
  response.set_content(reply.body, json_type);
}

void http_server::state::series(const Request& request, Response& response) {
  const auto of = [&](const char* name) {
    return request.get_param_value(name);
  };
  const series_asked what = parse_series(of("names"), of("from"), of("points"));
  if (!what.refused.empty())
    return refuse(response, 400, "bad_request", what.refused);
  response.set_content(json_text(handlers.series(what.query)) + "\n",
                       json_type);
}

void http_server::state::stream_events(const Request& request,
                                       Response& response) {
  if (!has_socket) // its path was encoded in another way
    return refuse(response, 404, "bad_request",
                  std::string("events are at ") + events_path);
  int64_t seen = seen_by(request);
  if (seen < 0)
    return refuse(response, 400, "bad_request",
                  "'after' and Last-Event-ID must be the number of an event, "
                  "0 or more");
  std::shared_ptr<event_log> log = handlers.events();
  if (!log)
    return refuse(response, 404, "bad_request", "there is no run yet");
  if (streams.fetch_add(1) >= limits.event_streams_max) {
    --streams;
    response.set_header("Retry-After", "5");
    return refuse(response, 503, "busy",
                  "all " + std::to_string(limits.event_streams_max) +
                      " event streams are in use");
  }
  bool first = true;
  response.set_chunked_content_provider(
      "text/event-stream",
      [this, log, seq = uint64_t(seen),
       first](size_t, httplib::DataSink& sink) mutable {
        std::string text;
        std::vector<event> news;
        if (first) {
          // At once, so that the reader knows it is connected.
          text = "retry: 1000\n\n";
          first = false;
          news = log->after(seq, events_per_write_max);
        } else {
          news = log->wait_after(seq, events_per_write_max, stream_silence_max,
                                 stopping.get_token());
          if (stopping.stop_requested()) {
            sink.done();
            return true;
          }
          if (news.empty())
            text = ": still here\n\n";
        }
        for (const event& one : news) {
          text +=
              "id: " + std::to_string(one.seq) + "\ndata: " + one.line + "\n\n";
          seq = one.seq;
        }
        return sink.write(text.data(), text.size());
      },
      [this](bool) { --streams; });
}

void http_server::state::add_routes() {
  server.Get("/metrics", [this](const Request&, Response& response) {
    response.set_content(handlers.metrics(), metrics_type);
  });
  server.Get("/healthz", [this](const Request&, Response& response) {
    health(response, handlers.unhealthy);
  });
  server.Get("/readyz", [this](const Request&, Response& response) {
    health(response, handlers.not_ready);
  });
  add_coordinator_routes();
}

void http_server::state::add_coordinator_routes() {
  auto json_route = [this](const char* path,
                           const std::function<nlohmann::json()>& content) {
    if (content)
      server.Get(path, [&content](const Request&, Response& response) {
        response.set_content(json_lines_text(content()) + "\n", json_type);
      });
  };
  json_route("/v1/status", handlers.status);
  json_route("/v1/targets", handlers.targets);
  json_route("/v1/schema", handlers.schema);
  if (handlers.series)
    server.Get(series_path, [this](const Request& request, Response& response) {
      series(request, response);
    });
  if (handlers.status)
    for (const page_file& file : page_files()) {
      bool index = file.name == "index.html";
      server.Get(index ? "/" : "/page/" + std::string(file.name),
                 [&file](const Request&, Response& response) {
                   response.set_header("Content-Security-Policy", page_policy);
                   response.set_content(file.content.data(),
                                        file.content.size(),
                                        std::string(content_type(file.name)));
                 });
    }
  if (handlers.events)
    server.Get(events_path, [this](const Request& request, Response& response) {
      stream_events(request, response);
    });
  if (!handlers.control)
    return;
  server.Post("/v1/control", [this](const Request& request, Response& response,
                                    const httplib::ContentReader& read) {
    control(request, response, read);
  });
  server.Get("/v1/control", [](const Request&, Response& response) {
    response.set_header("Allow", "POST");
    refuse(response, 405, "bad_request",
           "send control messages with POST and application/json");
  });
}

http_server::http_server() = default;
http_server::~http_server() {
  stop();
}

http_address http_server::start(const std::string& host, uint16_t port,
                                http_handlers handlers, http_limits limits) {
  stop();
  auto next = std::make_unique<state>();
  next->handlers = std::move(handlers);
  next->limits = limits;
  next->configure();
  next->add_routes();
  next->make_gate();
  int bound = port;
  if (port == 0)
    bound = next->server.bind_to_any_port(host);
  else if (!next->server.bind_to_port(host, port))
    bound = -1;
  if (bound <= 0) {
    failure why = why_not_bound("HTTP", host, port);
    if (!why) // freed a moment ago
      why = {errc::port_in_use,
             "cannot serve HTTP on " + to_string(http_address{host, port}) +
                 ": the port was in use a moment ago; try again",
             {}};
    throw ballast_error(why);
  }
  next->server.accept_more();
  next->bound = {host, uint16_t(bound)};
  // The main thread handles signals; here one would end accept().
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  next->listener = std::thread([server = &next->server] {
    name_this_thread("bl-http");
    server->listen_after_bind();
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  // Before it runs, Server::stop() would do nothing. It takes microseconds.
  while (!next->server.is_running())
    std::this_thread::yield();
  state_ = std::move(next);
  return state_->bound;
}

void http_server::stop() {
  if (!state_)
    return;
  state_->stopping.request_stop();
  state_->server.stop();
  state_->listener.join();
  state_->server.gate->stop();
  state_.reset();
}

} // namespace ballast::monitor
