#include "cli/node/node.hpp"

#include "actors/coordinator.hpp"
#include "actors/shard_manager.hpp"
#include "actors/types.hpp"
#include "cli/liveness.hpp"
#include "cli/node/host_port.hpp"
#include "cli/node/identity.hpp"
#include "data/prepared_set.hpp"
#include "monitor/http_server.hpp"
#include "monitor/log.hpp"
#include "monitor/progress.hpp"
#include "runtime/control.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

namespace ballast {

namespace {

using namespace std::chrono_literals;

constexpr auto request_deadline = 10s;

/// Asks the coordinator on behalf of an HTTP request; any thread.
template <class... Ts>
std::string ask_text(caf::actor_system& system, const coordinator_actor& whom,
                     Ts... what) {
  caf::scoped_actor self{system};
  std::string out;
  self->request(whom, request_deadline, what...)
      .receive(
          [&](const std::string& text) { out = text; },
          [&](const caf::error& why) { throw ballast_error(to_failure(why)); });
  return out;
}

http_reply ask_control(caf::actor_system& system, const coordinator_actor& whom,
                       const std::string& body) {
  caf::scoped_actor self{system};
  http_reply out;
  self->request(whom, request_deadline, control_atom::value, body)
      .receive(
          [&](int status, const std::string& text) {
            out = {status, text};
          },
          [&](const caf::error& why) {
            out = {503, make_reply_error("", to_failure(why))};
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
    if (one["state"] != "lost" && url.starts_with("http://"))
      add(url.substr(7), one["name"]);
  }
  return out;
}

http_handlers coordinator_handlers(caf::actor_system& system,
                                   const coordinator_actor& whom,
                                   std::shared_ptr<record_slot> records,
                                   std::shared_ptr<std::string> own_address) {
  http_handlers out;
  auto status = [&system, whom] {
    return nlohmann::json::parse(ask_text(system, whom, status_atom::value));
  };
  out.metrics = [records] {
    auto record = records->get();
    return record ? record->probe()->text() : idle_metrics();
  };
  out.unhealthy = [&system, whom]() -> std::optional<std::string> {
    try {
      ask_text(system, whom, status_atom::value);
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
  out.control = [&system, whom](const std::string& body) {
    return ask_control(system, whom, body);
  };
  out.events = [records]() -> std::shared_ptr<event_log> {
    auto record = records->get();
    return record ? record->events() : nullptr;
  };
  return out;
}

progress_state progress_of(const nlohmann::json& status) {
  progress_state out;
  out.state = status["state"];
  auto number = [&status](const char* key) {
    return status.contains(key) && status[key].is_number()
               ? status[key].get<double>()
               : 0.0;
  };
  out.epoch = uint64_t(number("epoch"));
  out.epochs = uint64_t(number("epochs"));
  out.step = uint64_t(number("step"));
  out.steps_total = uint64_t(number("steps_total"));
  out.world = uint32_t(number("world"));
  out.generation = uint64_t(number("generation"));
  if (out.step > 0) {
    out.loss = number("loss");
    out.skew = number("skew_tv_max");
    double rate = number("samples_per_s");
    if (rate > 0) {
      out.samples_per_s = rate;
      double per_step = number("samples") / number("step");
      out.eta_s = double(out.steps_total - out.step) * per_step / rate;
    }
  }
  return out;
}

/// Prints progress from the coordinator's ticks.
class progress_tap {
public:
  explicit progress_tap(bool enabled) : printer_(STDERR_FILENO, enabled) {}

  void tick(const coordinator_core& core) {
    if (!core.active())
      return;
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    last_ = progress_of(status_json(core, now));
    printer_.update(last_, now.count());
  }
  void finish(const nlohmann::json& report) {
    if (report.is_object())
      last_.state = report.value("state", last_.state);
    printer_.finish(last_);
  }

private:
  progress_printer printer_;
  progress_state last_;
};

/// Lines of the supervisor, as messages; its end ends this process.
void follow_supervisor(std::shared_ptr<liveness_socket> supervisor,
                       caf::actor_system& system, coordinator_actor whom) {
  while (true) {
    nlohmann::json line = supervisor->receive();
    if (line.is_null())
      std::_Exit(1);
    if (line.contains("job")) {
      caf::scoped_actor self{system};
      self->request(whom, request_deadline, submit_atom::value,
                    line["job"].dump(), line.value("run_dir", ""))
          .receive([](const std::string&) {},
                   [&](const caf::error& why) {
                     failure refused = to_failure(why);
                     supervisor->send(
                         {{"refused",
                           {{"exit_code", describe(refused.code).exit_code},
                            {"reason", refused.message}}}});
                   });
    } else if (line.contains("exited")) {
      caf::anon_send(whom, exited_atom::value, line["exited"].value("name", ""),
                     line["exited"].value("how", ""));
    } else if (line.contains("signal")) {
      caf::anon_send(whom, signal_atom::value);
    }
  }
}

/// One coordinator per state folder.
void lock_state(const std::filesystem::path& state) {
  std::error_code problem;
  std::filesystem::create_directories(state, problem);
  std::string lock = (state / "coordinator.lock").string();
  int fd = ::open(lock.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (fd < 0)
    throw ballast_error(errc::run_dir_unusable,
                        "--state " + state.string() + " is not writable");
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
    throw ballast_error(errc::run_dir_in_use,
                        "--state " + state.string() +
                            " belongs to another coordinator that is alive");
}

/// Blocks until SIGINT or SIGTERM.
int wait_for_signal(const sigset_t& set) {
  int got = 0;
  sigwait(&set, &got);
  return got;
}

void write_addresses(const std::filesystem::path& folder,
                     const coordinator_addresses& addresses) {
  nlohmann::ordered_json content{{"pid", getpid()},
                                 {"control", addresses.control},
                                 {"http", addresses.http}};
  std::filesystem::path temporary = folder / "coordinator.json.tmp";
  if (FILE* file = std::fopen(temporary.c_str(), "w")) {
    std::string text = content.dump(2) + "\n";
    std::fwrite(text.data(), 1, text.size(), file);
    std::fclose(file);
    std::filesystem::rename(temporary, folder / "coordinator.json");
  }
}

} // namespace

int run_coordinator(const node_options& options) {
  bool supervised = options.liveness_fd >= 0;
  start_log("coordinator",
            supervised ? spdlog::level::off : spdlog::level::info);
  host_port listen = parse_host_port(options.listen, "--listen");
  host_port web = parse_host_port(options.http, "--http");
  check_bind(listen, "--listen", options.insecure);
  check_bind(web, "--http", options.insecure);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::filesystem::path state = options.state.empty() ? "." : options.state;
  if (!supervised)
    lock_state(state);

  auto& config = *new system_config;
  auto& system = *new caf::actor_system(config);
  shard_manager_config shard_config;
  shard_config.cache_folder = default_cache_folder();
  auto shards = system.spawn(shard_manager, shard_config);

  coordinator_shell_config shell;
  shell.core.build_id =
      options.build_id.empty() ? build_id() : options.build_id;
  shell.core.token = make_token();
  shell.core.supervised = supervised;
  shell.core.cores = std::max(1u, std::thread::hardware_concurrency());
  shell.runs_folder = state / "runs";
  auto records = shell.records;
  // The addresses are known only once everything listens, and the actor needs
  // them only when a job comes.
  auto addresses = std::make_shared<coordinator_addresses>();
  shell.addresses = addresses;

  std::shared_ptr<liveness_socket> supervisor;
  auto progress =
      std::make_shared<progress_tap>(supervised && !options.no_progress);
  if (supervised) {
    supervisor = std::make_shared<liveness_socket>(options.liveness_fd);
    shell.on_tick = [progress](const coordinator_core& core) {
      progress->tick(core);
    };
    shell.on_run_opened = [supervisor](const run_record& record) {
      log_to_folder(record.folder() / "logs");
      supervisor->send(
          {{"run",
            {{"name", record.name()}, {"folder", record.folder().string()}}}});
    };
  }
  shell.on_run_ended = [supervisor, progress](const run_outcome& how) {
    nlohmann::json report = how.report.empty()
                                ? nlohmann::json()
                                : nlohmann::json::parse(how.report);
    if (supervisor) {
      progress->finish(report);
      supervisor->send({{"ended",
                         {{"exit_code", how.exit_code},
                          {"reason", how.reason},
                          {"folder", how.folder},
                          {"report", report}}}});
    }
    log().info("run {} ended with exit code {}{}", how.name, how.exit_code,
               how.reason.empty() ? "" : ": " + how.reason);
  };

  auto actor = system.spawn<caf::detached>(coordinator, shards, shell);
  auto own_http = std::make_shared<std::string>();
  http_server http;
  http_address bound =
      http.start(web.host, web.port,
                 coordinator_handlers(system, actor, records, own_http));
  *own_http = to_string(bound);
  auto port = system.middleman().publish(actor, listen.port,
                                         listen.host.c_str(), false);
  if (!port)
    throw ballast_error(errc::port_in_use,
                        "--listen " + options.listen +
                            ": the port is in use or not ours to bind");
  addresses->control = listen.host + ":" + std::to_string(*port);
  addresses->http = "http://" + *own_http;

  if (supervised) {
    supervisor->send(
        {{"ready",
          {{"control", addresses->control}, {"http", addresses->http}}}});
    std::thread(follow_supervisor, supervisor, std::ref(system), actor)
        .detach();
  } else {
    write_addresses(state, *addresses);
    std::printf("coordinator %s\nhttp %s\n", addresses->control.c_str(),
                addresses->http.c_str());
    std::fflush(stdout);
  }
  int got = wait_for_signal(signals);
  log().info("ends on signal {}", got);
  log().flush();
  // Only this process stops; workers see its connection close.
  std::fflush(nullptr);
  std::_Exit(130);
}

} // namespace ballast
