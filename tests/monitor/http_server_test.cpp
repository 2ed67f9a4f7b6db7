/// Goal: what each route answers, and what is refused. Method: real requests
/// over loopback, byte by byte.
#include "monitor/http/http_server.hpp"

#include "http_client.hpp"
#include "monitor/history/run_history.hpp"
#include "monitor/http/http_page.hpp"
#include "monitor/logs/event_log.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

#include <atomic>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <thread>

namespace ballast::monitor {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string as_json = "Content-Type: application/json\r\n";

/// A coordinator's server whose handlers answer something recognisable.
struct served_coordinator {
  explicit served_coordinator(http_limits limits = {}) {
    events = std::make_shared<event_log>(folder / "events.jsonl", 5);
    http_handlers handlers;
    handlers.metrics = [] { return "ballast_epoch 1\n"; };
    handlers.not_ready = [this]() -> std::optional<std::string> {
      return ready ? std::nullopt : std::optional("waiting for workers");
    };
    handlers.status = [] { return nlohmann::json{{"state", "training"}}; };
    handlers.targets = [] { return nlohmann::json::array(); };
    handlers.schema = []() -> nlohmann::json {
      throw std::runtime_error("no schema today");
    };
    handlers.control = [this](const std::string& body) {
      ++controlled;
      return http_reply{body == "{}" ? 200 : 422,
                        "{\"got\":" + std::to_string(body.size()) + "}"};
    };
    handlers.series = [](const series_query& what) {
      return nlohmann::json{{"points", what.points_max}, {"names", what.names}};
    };
    handlers.events = [this] { return events; };
    port = server.start("127.0.0.1", 0, handlers, limits).port;
  }

  http_answer get(const std::string& path, const std::string& headers = {}) {
    return http(port, "GET", path, headers);
  }
  http_answer post(const std::string& headers, const std::string& body) {
    return http(port, "POST", "/v1/control", headers, body);
  }

  store::temp_folder folder;
  std::shared_ptr<event_log> events;
  std::atomic<bool> ready{true};
  std::atomic<int> controlled{0};
  uint16_t port = 0;
  http_server server; // last: stops before what its handlers use is gone
};

/// A worker's: metrics and health only.
uint16_t start_worker(http_server& server) {
  http_handlers handlers;
  handlers.metrics = [] { return "ballast_epoch 1\n"; };
  return server.start("127.0.0.1", 0, handlers).port;
}

TEST(http_server, answers_series_and_refuses_what_is_no_query) {
  served_coordinator its;
  const http_answer found = its.get("/v1/series?names=loss%2Cworld&points=3");
  EXPECT_EQ(found.status, 200);
  EXPECT_EQ(nlohmann::json::parse(found.body),
            (nlohmann::json{{"points", 3}, {"names", {"loss", "world"}}}));
  const http_answer refused = its.get("/v1/series?points=many");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("'points' must be a number"));
}

TEST(http_server, answers_every_route_of_a_coordinator) {
  served_coordinator its;
  struct {
    std::string path, type, body;
  } table[] = {
      {"/metrics", "text/plain; version=0.0.4; charset=utf-8",
       "ballast_epoch 1\n"},
      {"/healthz", "text/plain; charset=utf-8", "ok\n"},
      {"/readyz", "text/plain; charset=utf-8", "ok\n"},
      {"/v1/status", "application/json", "{\n  \"state\": \"training\"\n}\n"},
      {"/v1/targets", "application/json", "[]\n"},
  };
  for (const auto& row : table) {
    http_answer answer = its.get(row.path);
    EXPECT_EQ(answer.status, 200) << row.path;
    EXPECT_EQ(answer.headers["content-type"], row.type);
    EXPECT_EQ(answer.headers["cache-control"], "no-store");
    EXPECT_EQ(answer.body, row.body);
  }
  http_answer page = its.get("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.body, HasSubstr("<title>Ballast</title>"));
  EXPECT_THAT(page.body, HasSubstr("</html>"));
  EXPECT_THAT(page.headers["content-security-policy"],
              HasSubstr("default-src 'none'"));
}

TEST(http_server, serves_every_file_that_the_page_names) {
  served_coordinator its;
  std::string page = its.get("/").body;
  size_t found = 0;
  for (size_t at = 0; (at = page.find("\"page/", at)) != std::string::npos;
       ++found) {
    size_t end = page.find('"', ++at);
    std::string path = "/" + page.substr(at, end - at);
    http_answer file = its.get(path);
    EXPECT_EQ(file.status, 200) << path;
    EXPECT_EQ(file.headers["content-type"], content_type(path));
    EXPECT_THAT(file.headers["content-security-policy"],
                Not(HasSubstr("unsafe")));
  }
  EXPECT_EQ(found + 1, page_files().size());
}

TEST(http_server, has_only_metrics_and_health_on_a_worker) {
  http_server server;
  uint16_t port = start_worker(server);
  for (const char* path : {"/metrics", "/healthz", "/readyz"})
    EXPECT_EQ(http(port, "GET", path).status, 200) << path;
  for (const char* path : {"/", "/v1/status", "/v1/events", "/v1/control"}) {
    http_answer answer = http(port, "GET", path);
    EXPECT_EQ(answer.status, 404) << path;
    EXPECT_THAT(answer.body, HasSubstr(path));
  }
}

TEST(http_server, says_why_it_is_not_ready) {
  served_coordinator its;
  its.ready = false;
  EXPECT_EQ(its.get("/readyz").status, 503);
  EXPECT_EQ(its.get("/readyz").body, "waiting for workers\n");
  EXPECT_EQ(its.get("/healthz").status, 200);
}

TEST(http_server, passes_control_messages_on_and_their_answers_back) {
  served_coordinator its;
  http_answer answer = its.post(as_json, "{}");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "{\"got\":2}");
  EXPECT_EQ(answer.headers["content-type"], "application/json");
  EXPECT_EQ(its.post("Content-Type: Application/JSON ; charset=utf-8\r\n", "[]")
                .status,
            422);
  EXPECT_EQ(its.post(as_json + "Transfer-Encoding: chunked\r\n",
                     "2\r\n{}\r\n0\r\n\r\n")
                .body,
            "{\"got\":2}");
  EXPECT_EQ(its.controlled, 3);
}

TEST(http_server, refuses_control_that_is_not_json_or_too_large) {
  served_coordinator its({.body_bytes_max = 1000});
  for (const std::string& type :
       {std::string(), std::string("Content-Type: text/plain\r\n"),
        std::string("Content-Type: application/x-www-form-urlencoded\r\n"),
        std::string("Content-Type: multipart/form-data; boundary=x\r\n")}) {
    http_answer answer = its.post(type, "{}");
    EXPECT_EQ(answer.status, 415) << type;
    EXPECT_THAT(answer.body, HasSubstr("application/json"));
  }
  EXPECT_EQ(its.controlled, 0);
  std::string whole(1000, ' ');
  EXPECT_EQ(its.post(as_json, whole).status, 422);
  http_answer large = its.post(as_json, whole + " ");
  EXPECT_EQ(large.status, 413);
  EXPECT_THAT(large.body, HasSubstr("larger than 1000 bytes"));
  std::string chunked = "3e9\r\n" + whole + " \r\n0\r\n\r\n";
  EXPECT_EQ(
      its.post(as_json + "Transfer-Encoding: chunked\r\n", chunked).status,
      413);
  EXPECT_EQ(its.controlled, 1);
}

TEST(http_server, refuses_pages_of_elsewhere) {
  served_coordinator its;
  std::string port = std::to_string(its.port);
  std::string good_host = "Host: 127.0.0.1:" + port + "\r\n";
  struct {
    std::string headers;
    int status;
  } table[] = {
      {good_host, 200},
      {"Host: localhost:" + port + "\r\n", 200},
      {"Host: LOCALHOST\r\n", 200},
      {"Host: [::1]:" + port + "\r\n", 200},
      {"Host: evil.example\r\n", 403},
      {"Host: evil.example:" + port + "\r\n", 403},
      {"Host: 10.0.0.1:" + port + "\r\n", 403},
      {"Host: \r\n", 403},
      {"Host: 127.0.0.1.evil.example\r\n", 403},
      {good_host + "Origin: http://127.0.0.1:" + port + "\r\n", 200},
      {good_host + "Origin: http://localhost:" + port + "\r\n", 403},
      {good_host + "Origin: http://127.0.0.1:1\r\n", 403},
      {good_host + "Origin: https://127.0.0.1:" + port + "\r\n", 403},
      {good_host + "Origin: http://evil.example\r\n", 403},
      {good_host + "Origin: null\r\n", 403},
  };
  for (const auto& row : table) {
    EXPECT_EQ(its.post(as_json + row.headers, "{}").status, row.status)
        << row.headers;
    EXPECT_EQ(its.get("/v1/status", row.headers).status, row.status);
  }
  // Scrapers may reach it under any name.
  EXPECT_EQ(its.get("/metrics", "Host: ballast.monitoring.svc\r\n").status,
            200);
}

TEST(http_server, asks_for_the_token_it_is_told_to) {
  http_server server;
  http_handlers handlers;
  handlers.metrics = [] { return "x 1\n"; };
  handlers.status = [] { return nlohmann::json::object(); };
  handlers.authorize = [](std::string_view header) {
    return header == "Bearer secret";
  };
  uint16_t port = server.start("127.0.0.1", 0, handlers).port;
  EXPECT_EQ(http(port, "GET", "/v1/status").status, 401);
  EXPECT_EQ(http(port, "GET", "/").status, 401);
  EXPECT_EQ(http(port, "GET", "/v1/status", "Authorization: Bearer secret\r\n")
                .status,
            200);
  EXPECT_EQ(http(port, "GET", "/metrics").status, 200);
}

TEST(http_server, explains_wrong_requests) {
  served_coordinator its;
  EXPECT_EQ(its.get("/v1/control").status, 405);
  EXPECT_EQ(its.get("/v1/control").headers["allow"], "POST");
  http_answer broken = its.get("/v1/schema");
  EXPECT_EQ(broken.status, 500);
  EXPECT_THAT(broken.body, HasSubstr("no schema today"));
  for (const char* query : {"x", "-1", "1x", "99999999999999999999"})
    EXPECT_EQ(its.get(std::string("/v1/events?after=") + query).status, 400);
  its.events = nullptr;
  EXPECT_EQ(its.get("/v1/events").status, 404);
}

TEST(http_server, streams_events_old_and_new) {
  served_coordinator its;
  its.events->append(event_text{"one", {}});
  its.events->append(event_text{"two", {}});
  http_connection stream(its.port);
  stream.send(http_text("GET", "/v1/events?after=1", its.port,
                        "Accept-Encoding: gzip\r\n"));
  std::string seen = stream.read_until("\"two\"");
  EXPECT_THAT(seen, HasSubstr("Content-Type: text/event-stream"));
  EXPECT_THAT(seen, Not(HasSubstr("\"one\"")));
  EXPECT_THAT(seen, HasSubstr("id: 2\ndata: {\"seq\":2,"));
  its.events->append(event_text{"three", {}});
  EXPECT_THAT(stream.read_until("\"three\""), HasSubstr("id: 3\n"));
}

TEST(http_server, continues_a_stream_where_the_browser_lost_it) {
  served_coordinator its;
  for (const char* kind : {"one", "two", "three"})
    its.events->append(event_text{kind, {}});
  http_connection stream(its.port);
  stream.send(
      http_text("GET", "/v1/events?after=0", its.port, "Last-Event-ID: 2\r\n"));
  EXPECT_THAT(stream.read_until("\"three\""), Not(HasSubstr("\"two\"")));
}

TEST(http_server, streams_events_that_are_only_in_the_file_any_more) {
  served_coordinator its; // its log keeps 5
  for (int i = 0; i < 8; ++i)
    its.events->append(event_text{"x", {}});
  http_connection stream(its.port);
  stream.send(http_text("GET", "/v1/events", its.port));
  const std::string got = stream.read_until("id: 8");
  for (int i = 1; i <= 8; ++i)
    EXPECT_THAT(got, HasSubstr("id: " + std::to_string(i) + "\n"));
}

TEST(http_server, limits_event_streams_and_keeps_the_rest_reachable) {
  served_coordinator its({.threads = 4, .event_streams_max = 2});
  {
    std::vector<http_connection> streams;
    for (int i = 0; i < 2; ++i) {
      streams.emplace_back(its.port);
      streams.back().send(http_text("GET", "/v1/events", its.port));
      streams.back().read_until("retry");
    }
    http_answer refused = its.get("/v1/events");
    EXPECT_EQ(refused.status, 503);
    EXPECT_THAT(refused.body, HasSubstr("all 2 event streams"));
    EXPECT_EQ(its.get("/metrics").status, 200);
  }
  // Readers that went away are noticed by the next writes to them.
  auto stream_again = [&] {
    http_connection stream(its.port);
    stream.send(http_text("GET", "/v1/events", its.port));
    return parse_answer(stream.read_until("\r\n\r\n")).status;
  };
  int status = 503;
  for (int attempt = 0; attempt < 1000 && status == 503; ++attempt) {
    its.events->append(event_text{"x", {}});
    status = stream_again();
  }
  EXPECT_EQ(status, 200);
}

TEST(http_server, stops_while_streams_and_idle_connections_are_open) {
  served_coordinator its;
  http_connection stream(its.port);
  stream.send(http_text("GET", "/v1/events", its.port));
  stream.read_until("retry");
  http_connection idle(its.port);
  its.server.stop();
  EXPECT_THAT(stream.read_to_end(), HasSubstr("retry"));
  EXPECT_THROW(http(its.port, "GET", "/metrics"), std::runtime_error);
  its.server.stop();
}

TEST(http_server, answers_many_at_once) {
  served_coordinator its;
  std::vector<std::thread> threads;
  threads.reserve(8);
  std::atomic<int> right{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      for (int n = 0; n < 20; ++n)
        if (its.post(as_json, "{}").status == 200)
          ++right;
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(right, 160);
  EXPECT_EQ(its.controlled, 160);
}

TEST(http_server, answers_at_once_beside_200_slow_connections) {
  // Longer than the test: no deadline of theirs frees anything.
  served_coordinator its({.threads = 4,
                          .header_deadline = std::chrono::minutes(1),
                          .request_deadline = std::chrono::minutes(1)});
  std::vector<http_connection> slow;
  for (int i = 0; i < 200; ++i) {
    slow.emplace_back(its.port);
    if (i % 3 == 0)
      slow.back().send("GET /healthz HTT"); // within its header
    else if (i % 3 == 1)                    // within its body
      slow.back().send("POST /v1/control HTTP/1.1\r\nContent-Length: 9\r\n" +
                       as_json + "\r\n{");
  }
  for (const char* path : {"/healthz", "/readyz", "/metrics", "/v1/status"})
    EXPECT_EQ(its.get(path).status, 200) << path;
  EXPECT_EQ(its.post(as_json, "{}").status, 200);
  EXPECT_EQ(its.controlled, 1);
  // And they are served once they have said all.
  slow[0].send("P/1.1\r\n\r\n");
  EXPECT_EQ(parse_answer(slow[0].read_to_end()).status, 200);
}

TEST(http_server, ends_connections_that_never_send_their_request) {
  served_coordinator its({.header_deadline = std::chrono::milliseconds(20),
                          .request_deadline = std::chrono::milliseconds(40)});
  http_connection header(its.port);
  header.send("GET /healthz HTT");
  EXPECT_EQ(parse_answer(header.read_to_end()).status, 408);
  http_connection body(its.port);
  body.send("POST /v1/control HTTP/1.1\r\nContent-Length: 9\r\n\r\n{");
  EXPECT_THAT(body.read_to_end(), HasSubstr("did not come in time"));
}

TEST(http_server, makes_room_for_the_newest_connection) {
  served_coordinator its(
      {.connections_max = 3, .header_deadline = std::chrono::minutes(1)});
  std::vector<http_connection> slow;
  for (int i = 0; i < 50; ++i) {
    slow.emplace_back(its.port);
    slow.back().send("GET");
    EXPECT_EQ(its.get("/healthz").status, 200);
  }
  EXPECT_EQ(slow[0].read_to_end(), "");
}

TEST(http_server, refuses_headers_without_end) {
  served_coordinator its;
  for (const std::string& headers :
       {"X: " + std::string(10000, 'x') + "\r\n", [] {
          std::string many;
          for (int i = 0; i < 200; ++i)
            many += "X-" + std::to_string(i) + ": 1\r\n";
          return many;
        }()}) {
    http_answer answer = its.get("/healthz", headers);
    EXPECT_EQ(answer.status, 431);
    EXPECT_THAT(answer.body, HasSubstr("header"));
  }
  http_connection endless(its.port); // it never ends its first line
  endless.send(std::string(100000, 'x'));
  EXPECT_EQ(parse_answer(endless.read_to_end()).status, 431);
}

TEST(http_server, streams_events_under_their_own_path_only) {
  served_coordinator its;
  EXPECT_EQ(its.get("/v1/%65vents").status, 404);
}

TEST(http_server, says_which_address_is_taken) {
  http_server first;
  uint16_t port = start_worker(first);
  http_server second;
  http_handlers handlers;
  handlers.metrics = [] { return ""; };
  EXPECT_FAILURE(second.start("127.0.0.1", port, handlers), errc::port_in_use,
                 "127.0.0.1:" + std::to_string(port));
  EXPECT_FAILURE(second.start("192.0.2.1", 0, handlers), errc::usage,
                 "192.0.2.1:0");
  EXPECT_EQ(http(port, "GET", "/metrics").status, 200);
  first.stop();
  EXPECT_EQ(second.start("127.0.0.1", port, handlers).port, port);
}

TEST(http_server, prints_addresses_as_they_are_typed) {
  EXPECT_EQ(to_string(http_address{"127.0.0.1", 80}), "127.0.0.1:80");
  EXPECT_EQ(to_string(http_address{"::1", 8080}), "[::1]:8080");
}

} // namespace
} // namespace ballast::monitor
