#include "cli/node/node.hpp"

#include "actors/coordinator.hpp"
#include "actors/shard_manager.hpp"
#include "actors/types.hpp"
#include "cli/liveness.hpp"
#include "cli/node/coordinator_http.hpp"
#include "cli/node/host_port.hpp"
#include "cli/node/identity.hpp"
#include "cli/node/progress_tap.hpp"
#include "data/prepared_set.hpp"
#include "monitor/http_server.hpp"
#include "monitor/log.hpp"
#include "runtime/thread_name.hpp"

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

/// Lines of the supervisor, as messages; its end ends this process.
void follow_supervisor(std::shared_ptr<liveness_socket> supervisor,
                       caf::actor_system& system, coordinator_actor whom) {
  name_this_thread("bl-supervisor");
  auto accepted = [](const std::string&) {};
  auto refuse = [&supervisor](const caf::error& why) {
    failure refused = to_failure(why);
    supervisor->send({{"refused",
                       {{"exit_code", describe(refused.code).exit_code},
                        {"reason", refused.message}}}});
  };
  while (true) {
    nlohmann::json line = supervisor->receive();
    if (line.is_null())
      std::_Exit(1);
    if (line.contains("job")) {
      caf::scoped_actor self{system};
      self->request(whom, request_deadline, submit_atom::value,
                    line["job"].dump(), line.value("run_dir", ""))
          .receive(accepted, refuse);
    } else if (line.contains("resume")) {
      caf::scoped_actor self{system};
      self->request(whom, request_deadline, resume_atom::value,
                    line["resume"].dump())
          .receive(accepted, refuse);
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

/// The run that an earlier coordinator of this state folder did not end; empty
/// if there is none.
std::filesystem::path unfinished_run(const std::filesystem::path& runs) {
  std::filesystem::path newest;
  std::filesystem::file_time_type when{};
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(runs, ignored)) {
    auto time = std::filesystem::last_write_time(
        entry.path() / "coordinator.json", ignored);
    if (ignored || std::filesystem::exists(entry.path() / "report.json") ||
        (!newest.empty() && time < when))
      continue;
    newest = entry.path();
    when = time;
  }
  return newest;
}

/// One life of a coordinator: listens, then follows its supervisor or waits for
/// jobs over HTTP, until a signal or the end of the supervisor.
class coordinator_process {
public:
  coordinator_process(const node_options& options,
                      std::shared_ptr<liveness_socket> supervisor)
      : options_(options), supervisor_(std::move(supervisor)),
        state_(options.state.empty() ? "." : options.state) {}

  /// Throws ballast_error: port_in_use, run_dir_in_use.
  void listen();
  void announce();

private:
  coordinator_shell_config shell();
  void run_ended(const run_outcome& how);

  const node_options& options_;
  std::shared_ptr<liveness_socket> supervisor_; // null: started by hand
  std::filesystem::path state_;
  // Threads of CAF run until the process ends: never destroyed.
  system_config& config_ = *new system_config;
  caf::actor_system& system_ = *new caf::actor_system(config_);
  coordinator_actor actor_;
  http_server http_;
  std::shared_ptr<coordinator_addresses> addresses_ =
      std::make_shared<coordinator_addresses>();
  std::shared_ptr<progress_tap> progress_;
};

coordinator_shell_config coordinator_process::shell() {
  coordinator_shell_config out;
  out.core.build_id =
      options_.build_id.empty() ? build_id() : options_.build_id;
  out.core.token = make_token();
  out.core.supervised = supervisor_ != nullptr;
  out.core.cores = std::max(1u, std::thread::hardware_concurrency());
  out.runs_folder = state_ / "runs";
  // The addresses are known only once everything listens, and the actor needs
  // them only when a job comes.
  out.addresses = addresses_;
  out.on_run_ended = [this](const run_outcome& how) { run_ended(how); };
  if (!supervisor_)
    return out;
  progress_ = std::make_shared<progress_tap>(!options_.no_progress);
  out.on_tick = [tap = progress_](const coordinator_core& core) {
    tap->tick(core);
  };
  out.on_start_worker = [to = supervisor_](const std::string& name) {
    to->send({{"start", name}});
  };
  out.on_expelled = [to = supervisor_](const std::string& name) {
    to->send({{"expelled", name}});
  };
  out.on_run_opened = [to = supervisor_](const run_record& record) {
    log_to_folder(record.folder() / "logs");
    to->send(
        {{"run",
          {{"name", record.name()}, {"folder", record.folder().string()}}}});
  };
  return out;
}

void coordinator_process::run_ended(const run_outcome& how) {
  log().info("run {} ended with exit code {}{}", how.name, how.exit_code,
             how.reason.empty() ? "" : ": " + how.reason);
  if (!supervisor_)
    return;
  nlohmann::json report =
      how.report.empty() ? nlohmann::json() : nlohmann::json::parse(how.report);
  progress_->finish(report);
  supervisor_->send({{"ended",
                      {{"exit_code", how.exit_code},
                       {"reason", how.reason},
                       {"folder", how.folder},
                       {"report", report}}}});
}

void coordinator_process::listen() {
  host_port control = parse_host_port(options_.listen, "--listen");
  host_port web = parse_host_port(options_.http, "--http");
  check_bind(control, "--listen", options_.insecure);
  check_bind(web, "--http", options_.insecure);
  if (!supervisor_)
    lock_state(state_);
  shard_manager_config shard_config;
  shard_config.cache_folder = default_cache_folder();
  // The workers fetch their chunks where they reach the coordinator.
  shard_config.bind_host = control.host;
  if (control.host == "0.0.0.0" || control.host == "::")
    throw ballast_error(errc::usage,
                        "--listen " + options_.listen +
                            ": give the address at which the workers reach "
                            "this node");
  coordinator_shell_config config = shell();
  auto records = config.records;
  actor_ = system_.spawn<caf::detached>(
      coordinator, system_.spawn(shard_manager, shard_config),
      std::move(config));
  auto own_http = std::make_shared<std::string>();
  *own_http = to_string(
      http_.start(web.host, web.port,
                  coordinator_handlers(system_, actor_, records, own_http)));
  auto port = system_.middleman().publish(actor_, control.port,
                                          control.host.c_str(), true);
  if (!port)
    throw ballast_error(errc::port_in_use,
                        "--listen " + options_.listen +
                            ": the port is in use or not ours to bind");
  addresses_->control = control.host + ":" + std::to_string(*port);
  addresses_->http = "http://" + *own_http;
}

void coordinator_process::announce() {
  if (supervisor_) {
    supervisor_->send(
        {{"ready",
          {{"control", addresses_->control}, {"http", addresses_->http}}}});
    std::thread(follow_supervisor, supervisor_, std::ref(system_), actor_)
        .detach();
    return;
  }
  write_addresses(state_, *addresses_);
  if (std::filesystem::path open = unfinished_run(state_ / "runs");
      !open.empty()) {
    caf::scoped_actor self{system_};
    self->request(actor_, request_deadline, resume_atom::value,
                  nlohmann::json{{"folder", open.string()}}.dump())
        .receive(
            [](const std::string& name) {
              log().info("goes on with run {}", name);
            },
            [&](const caf::error& why) {
              log().warn("cannot go on with {}: {}", open.string(),
                         to_failure(why).message);
            });
  }
  std::printf("coordinator %s\nhttp %s\n", addresses_->control.c_str(),
              addresses_->http.c_str());
  std::fflush(stdout);
}

} // namespace

int run_coordinator(const node_options& options) {
  std::shared_ptr<liveness_socket> supervisor;
  if (options.liveness_fd >= 0)
    supervisor = std::make_shared<liveness_socket>(options.liveness_fd);
  start_log("coordinator",
            supervisor ? spdlog::level::off : spdlog::level::info);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Its threads go with the process.
  auto& process = *new coordinator_process(options, supervisor);
  try {
    process.listen();
  } catch (const ballast_error& e) {
    if (!supervisor)
      throw;
    // The supervisor says it, as the last line of the command.
    errc code = e.what_failed().code;
    supervisor->send(
        {{"refused",
          {{"exit_code", describe(code).exit_code}, {"reason", e.what()}}}});
    std::_Exit(describe(code).exit_code);
  }
  process.announce();
  int got = 0;
  sigwait(&signals, &got);
  log().info("ends on signal {}", got);
  log().flush();
  // Only this process stops; workers see its connection close.
  std::fflush(nullptr);
  std::_Exit(130);
}

} // namespace ballast
