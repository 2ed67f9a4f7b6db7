#include "cli/node/node.hpp"

#include "actors/coordinator_shell.hpp"
#include "actors/shard_manager.hpp"
#include "actors/this_machine.hpp"
#include "actors/types.hpp"
#include "cli/liveness.hpp"
#include "cli/node/coordinator_http.hpp"
#include "cli/node/host_port.hpp"
#include "cli/node/identity.hpp"
#include "cli/node/patient_resume.hpp"
#include "cli/node/progress_tap.hpp"
#include "cli/node/supervisor_lines.hpp"
#include "cli/node/worker_device.hpp"
#include "cli/process_identity.hpp"
#include "data/prepared/prepared_set.hpp"
#include "monitor/http/http_server.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/run_mark.hpp"
#include "store/atomic_file.hpp"
#include "store/file_lock.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <set>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace ballast::cli {

namespace {

using namespace std::chrono_literals;

/// One coordinator per state folder, as long as the lock is held.
store::file_lock lock_state(const std::filesystem::path& state) {
  std::error_code problem;
  std::filesystem::create_directories(state, problem);
  store::file_lock lock(state / "coordinator.lock");
  if (!lock)
    throw ballast_error(errc::run_dir_unusable,
                        "--state " + state.string() + " is not writable");
  if (!lock.take(store::file_lock::mode::exclusive))
    throw ballast_error(errc::run_dir_in_use,
                        "--state " + state.string() +
                            " belongs to another coordinator that is alive");
  return lock;
}

void write_addresses(const std::filesystem::path& folder,
                     const actors::coordinator_addresses& addresses) {
  nlohmann::ordered_json content{{"pid", getpid()},
                                 {"control", addresses.control},
                                 {"http", addresses.http}};
  try {
    store::atomic_file file(folder / "coordinator.json");
    file.append(json_lines_text(content) + "\n");
    file.publish();
  } catch (const store::file_failure& problem) {
    monitor::log().warn("coordinator.json: {}", problem.what());
  }
}

/// The unfinished run of an earlier coordinator of this state folder; empty if
/// there is none.
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

/// Marks of the finished runs in this folder.
std::set<std::string> ended_runs(const std::filesystem::path& runs) {
  std::set<std::string> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(runs, ignored)) {
    std::ifstream key(entry.path() / "run.key");
    std::string token;
    if (key >> token && std::filesystem::exists(entry.path() / "report.json"))
      out.insert(run_mark(token, entry.path().filename().string()));
  }
  return out;
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
  actors::coordinator_shell_config shell();
  /// Informs the user of `ballast run`.
  std::function<void(const std::string&)> on_notice() {
    return [to = supervisor_](const std::string& text) {
      to->send({{"notice", text}});
    };
  }
  void run_ended(const actors::run_outcome& how);
  [[noreturn]] void leave_by_defect(const std::string& why);

  const node_options& options_;
  std::shared_ptr<liveness_socket> supervisor_; // null: started by hand
  std::filesystem::path state_;
  store::file_lock state_lock_; // one coordinator per state folder
  // Threads of CAF run until the process ends: never destroyed.
  actors::system_config& config_ = *new actors::system_config;
  caf::actor_system& system_ = *new caf::actor_system(config_);
  actors::local_coordinator_actor actor_;
  monitor::http_server http_;
  std::shared_ptr<actors::coordinator_addresses> addresses_ =
      std::make_shared<actors::coordinator_addresses>();
  std::shared_ptr<progress_tap> progress_;
  std::shared_ptr<actors::record_slot> records_;
};

actors::coordinator_shell_config coordinator_process::shell() {
  actors::coordinator_shell_config out;
  out.core.build_id =
      options_.build_id.empty() ? build_id() : options_.build_id;
  out.core.token = make_token();
  out.core.supervised = supervisor_ != nullptr;
  out.runs_folder = state_ / "runs";
  if (!supervisor_)
    out.core.ended_runs = ended_runs(out.runs_folder);
  // The addresses are known only once everything listens, and the actor needs
  // them only when a job comes.
  out.addresses = addresses_;
  out.on_run_ended = [this](const actors::run_outcome& how) { run_ended(how); };
  out.on_defect = [this](const std::string& why) { leave_by_defect(why); };
  if (!supervisor_)
    return out;
  out.only_machine = actors::this_machine();
  if (may_have_gpu())
    out.only_machine->memory_bytes = 0; // the model may be in a GPU's memory
  progress_ = std::make_shared<progress_tap>(!options_.no_progress);
  out.on_tick = [tap = progress_](const coordinator::run_status& status) {
    tap->tick(status);
  };
  out.on_steps = [tap = progress_](const auto& steps, const auto& of,
                                   const auto& known) {
    tap->steps(steps, of, known);
  };
  out.on_evaluation = [tap = progress_](const evaluation_report& what,
                                        bool classes) {
    tap->evaluated(what, classes);
  };
  out.on_trouble = [tap = progress_](const std::string& line) {
    tap->say(line);
  };
  out.on_start_worker = [to = supervisor_](const std::string& name) {
    to->send({{"start", name}});
  };
  out.on_expelled = [to = supervisor_](const std::string& name) {
    to->send({{"expelled", name}});
  };
  out.on_joined = [to = supervisor_](const std::string& name) {
    to->send({{"joined", name}});
  };
  out.on_run_opened = [to = supervisor_, tap = progress_,
                       silent = options_.no_progress](
                          const actors::run_record& record, const job& what) {
    monitor::log_to_folder(record.folder() / "logs");
    tap->begin(what);
    if (!silent && record.begins())
      tap->say(monitor::first_line(record.name(), what));
    to->send({{"run",
               {{"name", record.name()},
                {"folder", record.folder().string()},
                {"begins", record.begins()}}}});
  };
  out.on_taken_over = [to = supervisor_] { to->send({{"taken_over", true}}); };
  out.on_notice = on_notice();
  return out;
}

void coordinator_process::run_ended(const actors::run_outcome& how) {
  monitor::log().info("run {} ended with exit code {}{}", how.name,
                      how.exit_code,
                      how.reason.empty() ? "" : ": " + how.reason);
  if (!supervisor_)
    return;
  nlohmann::json report =
      how.report.empty() ? nlohmann::json() : nlohmann::json::parse(how.report);
  progress_->finish();
  supervisor_->send(
      {{"ended",
        {{"exit_code", how.exit_code},
         {"reason",
          how.reason + (how.detail.empty() ? "" : " (" + how.detail + ")")},
         {"folder", how.folder},
         {"discarded", how.discarded},
         {"report", report}}}});
}

/// Journal, steps and checkpoints are on disk. The cause of a handler's
/// exception would recur at once in another coordinator, so none is started.
void coordinator_process::leave_by_defect(const std::string& why) {
  auto record = records_->get();
  std::string folder = record ? record->folder().string() : "";
  std::string text = why;
  if (!folder.empty())
    text += "; the run directory " + folder +
            " is kept, `ballast run JOB.json --resume --run-dir " + folder +
            "` goes on with it";
  monitor::log().flush();
  if (supervisor_)
    supervisor_->send({{"ended",
                        {{"exit_code", 1},
                         {"reason", text},
                         {"folder", folder},
                         {"report", nullptr}}}});
  else
    std::fprintf(stderr, "ballast: %s\n", text.c_str());
  std::fflush(nullptr);
  std::_Exit(1);
}

void coordinator_process::listen() {
  (void)fault_point("coordinator.listen");
  host_port control = parse_host_port(options_.listen, "--listen");
  host_port web = parse_host_port(options_.http, "--http");
  check_bind(control, "--listen", options_.insecure);
  check_bind(web, "--http", options_.insecure);
  if (!supervisor_)
    state_lock_ = lock_state(state_);
  actors::shard_manager_config shard_config;
  shard_config.cache_folder = data::default_cache_folder();
  // The workers fetch their chunks from the address at which they reach the
  // coordinator.
  shard_config.bind_host = control.host;
  if (control.host == "0.0.0.0" || control.host == "::")
    throw ballast_error(errc::usage,
                        "--listen " + options_.listen +
                            ": give the address at which the workers reach "
                            "this node");
  actors::coordinator_shell_config config = shell();
  records_ = config.records;
  shard_config.on_defect = config.on_defect;
  shard_config.warn = [run = supervisor_ != nullptr](const std::string& why) {
    monitor::log().warn("{}", why);
    if (run) // its log goes to the file only
      std::fprintf(stderr, "warning: %s\n", why.c_str());
  };
  shard_config.apart.note = [](const std::string& what) {
    monitor::log().info("{}", what);
  };
  config.boot_id = boot_id();
  // For tests: helpers on one machine, and sources that are not worth it.
  if (const char* text = std::getenv("BALLAST_PREPARE_ON_THIS_MACHINE");
      text != nullptr && text == std::string_view("1")) {
    config.prepare_on_this_machine = true;
    shard_config.apart.worth_bytes = 0;
  }
  // Each on a thread of its own: the one waits for disks, the other plans.
  actor_ = system_.spawn<actors::coordinator_shell, caf::detached>(
      system_.spawn<actors::shard_manager, caf::detached>(shard_config),
      std::move(config));
  auto own_http = std::make_shared<std::string>();
  *own_http = serve(http_, web,
                    coordinator_handlers(system_, actor_, records_, own_http),
                    options_.http_again ? on_notice() : nullptr);
  // Workers get to know what they may say, and nothing else.
  auto port =
      system_.middleman().publish(actors::coordinator_actor(actor_),
                                  control.port, control.host.c_str(), true);
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
    auto& resume = *new patient_resume(system_, actor_);
    resume.begin(
        actors::resume_run{.folder = open.string()},
        [](const std::string& name) {
          monitor::log().info("goes on with run {}", name);
        },
        [open](const failure& why) {
          monitor::log().warn("cannot go on with {}: {}", open.string(),
                              why.message);
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
  monitor::start_log("coordinator",
                     supervisor ? spdlog::level::off : spdlog::level::info);
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // Its threads end with the process.
  auto& process = *new coordinator_process(options, supervisor);
  try {
    process.listen();
  } catch (const ballast_error& e) {
    if (!supervisor)
      throw;
    // The supervisor prints it, as the last line of the command.
    errc code = e.what_failed().code;
    supervisor->send(
        {{"refused",
          {{"exit_code", describe(code).exit_code}, {"reason", e.what()}}}});
    std::_Exit(describe(code).exit_code);
  }
  process.announce();
  int got = 0;
  sigwait(&signals, &got);
  monitor::log().info("ends on signal {}", got);
  monitor::log().flush();
  // Only this process stops; workers see its connection close.
  std::fflush(nullptr);
  std::_Exit(130);
}

} // namespace ballast::cli
