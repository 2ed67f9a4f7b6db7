#include "cli/node/coordinator_http.hpp"

#include "actors/types.hpp"
#include "runtime/coordinator/run_status.hpp"
#include "runtime/messages/control.hpp"

#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace ballast::cli {

namespace {

constexpr auto request_deadline = std::chrono::seconds(10);
/// A tick of the coordinator.
constexpr auto status_age_max = std::chrono::milliseconds(50);

/// Asks the coordinator on behalf of an HTTP request; any thread.
nlohmann::json ask_status(caf::actor_system& system,
                          const actors::local_coordinator_actor& whom) {
  caf::scoped_actor self{system};
  nlohmann::json out;
  self->request(whom, request_deadline, actors::status_query{})
      .receive([&](const status_shown& shown) { out = shown.status; },
               [&](const caf::error& why) {
                 throw ballast_error(actors::to_failure(why));
               });
  return out;
}

/// What was answered a moment ago is the answer: many who look cost the
/// coordinator no more than one. Any thread.
class recent_status {
public:
  recent_status(caf::actor_system& system, actors::local_coordinator_actor whom)
      : system_(system), whom_(std::move(whom)) {}

  nlohmann::json get() {
    const auto began = clock::now();
    const std::lock_guard lock(mutex_);
    // Those who waited for another one's answer take it, also if it is none.
    if (known_ && clock::now() - known_at_ <= status_age_max)
      return *known_;
    if (problem_ && failed_at_ >= began)
      throw ballast_error(*problem_);
    known_.reset();
    problem_.reset();
    try {
      known_ = ask_status(system_, whom_);
    } catch (const ballast_error& problem) {
      problem_ = problem.what_failed();
      failed_at_ = clock::now();
      throw;
    }
    known_at_ = clock::now();
    return *known_;
  }
  /// Something was changed, and whoever did it wants to see that.
  void forget() {
    const std::lock_guard lock(mutex_);
    known_.reset();
  }

private:
  using clock = std::chrono::steady_clock;

  caf::actor_system& system_;
  const actors::local_coordinator_actor whom_;
  std::mutex mutex_;
  std::optional<nlohmann::json> known_;
  clock::time_point known_at_;
  std::optional<failure> problem_;
  clock::time_point failed_at_;
};

/// The one place where a control message is JSON: a request from here on, and a
/// value that comes back.
monitor::http_reply ask_control(caf::actor_system& system,
                                const actors::local_coordinator_actor& whom,
                                const std::string& body) {
  control_result message = parse_control(body);
  if (!message.value)
    return {http_status(message.refused),
            make_reply_error(message.id, message.refused)};
  caf::scoped_actor self{system};
  monitor::http_reply out;
  self->request(whom, request_deadline, message.value->request)
      .receive(
          [&](const control_reply& reply) {
            control_response made = make_response(message.id, reply);
            out = {made.status, std::move(made.body)};
          },
          [&](const caf::error& why) {
            out = {503, make_reply_error("", actors::to_failure(why))};
          });
  return out;
}

/// Prometheus HTTP service discovery: this process and every worker.
nlohmann::json targets(const nlohmann::json& status,
                       const std::string& own_address) {
  std::string run = status["run"].is_null() ? "" : status["run"];
  nlohmann::json out = nlohmann::json::array();
  auto add = [&](const std::string& address, const std::string& worker) {
    nlohmann::json labels{{"run", run}};
    if (!worker.empty())
      labels["worker"] = worker;
    out.push_back({{"targets", {address}}, {"labels", labels}});
  };
  add(own_address, "");
  for (const auto& one : status["workers"]) {
    std::string url = one["metrics"];
    if (one["state"] != to_string(coordinator::worker_standing::lost) &&
        url.starts_with("http://"))
      add(url.substr(7), one["name"]);
  }
  return out;
}

} // namespace

monitor::http_handlers
coordinator_handlers(caf::actor_system& system,
                     const actors::local_coordinator_actor& whom,
                     std::shared_ptr<actors::record_slot> records,
                     std::shared_ptr<std::string> own_address) {
  monitor::http_handlers out;
  const auto recent = std::make_shared<recent_status>(system, whom);
  auto status = [recent] { return recent->get(); };
  out.metrics = [records] {
    auto record = records->get();
    return record ? record->probe()->text() : monitor::idle_metrics();
  };
  out.unhealthy = [recent]() -> std::optional<std::string> {
    try {
      recent->get();
      return std::nullopt;
    } catch (const ballast_error& e) {
      return e.what();
    }
  };
  out.not_ready = out.unhealthy;
  out.status = status;
  out.targets = [status, own_address] {
    return targets(status(), *own_address);
  };
  out.schema = [] { return api_schema(); };
  out.series = [records](const monitor::series_query& what) {
    const auto record = records->get();
    if (!record)
      return nlohmann::json{{"names", nlohmann::json::array()},
                            {"series", nlohmann::json::object()}};
    return what.names.empty()
               ? nlohmann::json{{"names", record->notices().history()->names()}}
               : record->notices().history()->to_json(what);
  };
  out.control = [&system, whom, recent](const std::string& body) {
    monitor::http_reply reply = ask_control(system, whom, body);
    recent->forget();
    return reply;
  };
  out.events = [records]() -> std::shared_ptr<monitor::event_log> {
    auto record = records->get();
    return record ? record->notices().events() : nullptr;
  };
  return out;
}

std::string serve(monitor::http_server& server, const host_port& where,
                  const monitor::http_handlers& handlers,
                  const std::function<void(const std::string&)>& elsewhere) {
  try {
    return to_string(server.start(where.host, where.port, handlers));
  } catch (const ballast_error& problem) {
    if (!elsewhere || problem.what_failed().code != errc::port_in_use)
      throw;
    std::string now = to_string(server.start(where.host, 0, handlers));
    elsewhere(std::string(problem.what()) + ": the page is at http://" + now +
              " from now on");
    return now;
  }
}

} // namespace ballast::cli
