#include "cli/supervisor.hpp"

#include "cli/child_arguments.hpp"
#include "cli/child_process.hpp"
#include "cli/opened_logs.hpp"
#include "cli/outcome.hpp"
#include "cli/resume_command.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/restart_limit.hpp"
#include "runtime/base/standstill.hpp"
#include "runtime/base/unique_fd.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::cli {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

/// How long children may take to end by themselves after the run.
constexpr auto children_deadline = 1000ms;
/// After a failure they have nothing to finish.
constexpr auto failed_children_deadline = 500ms;
/// How long a coordinator may take to start.
constexpr auto ready_deadline = 20s;

void say(const std::string& text) {
  if (!text.empty())
    std::fprintf(stderr, "%s\n", text.c_str());
}

class supervisor {
public:
  explicit supervisor(const run_options& options)
      : options_(options), logs_(options.run_dir) {}

  outcome run();

private:
  void catch_signals();
  void start_coordinator();
  bool restart_coordinator(const std::string& how, bool by_signal);
  void coordinator_stands(bool still);
  void start_if_due();
  int poll_ms() const;
  void start_worker(const std::string& name);
  void kill_expelled();
  void on_line(const nlohmann::json& line);
  void on_signal();
  void reap();
  void exited(const std::string& name, const process_end& how);
  void end(int exit_code, std::string reason);
  void wait_for_children(std::chrono::milliseconds patience);
  void kill_children();
  bool any_worker_running() const;

  const run_options& options_;
  unique_fd signals_;
  child_process coordinator_;
  std::vector<child_process> workers_;
  std::vector<adopted_worker> adopted_;
  opened_logs logs_;
  std::string control_;
  std::string http_;
  std::string told_; // where the page is, as the user knows
  std::string folder_;
  bool opened_ = false;    // the coordinator has the run
  bool had_run_ = false;   // --run-dir had one before any coordinator started
  std::string old_report_; // of an earlier life of the run
  bool resume_ = false;    // the coordinator takes over a run
  /// A user asked for that, and no coordinator has kept it: the next one is
  /// told again, or a stop from before would count.
  bool asks_again_ = false;
  std::string died_; // how the last coordinator ended
  restart_limit restarts_;
  standstill still_; // of the coordinator
  /// When the next coordinator starts; there is none until then.
  std::optional<steady::time_point> start_due_;
  steady::time_point coordinator_started_{};
  std::map<std::string, steady::time_point> expelled_;
  int interrupts_ = 0;
  bool answered_ = false; // the first interrupt, while there was no coordinator
  std::optional<outcome> result_;
};

void supervisor::catch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int one : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&set, one);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_.reset(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

void supervisor::start_coordinator() {
  coordinator_ =
      start_child("coordinator", coordinator_arguments(options_, http_), "");
}

void supervisor::start_worker(const std::string& name) {
  const std::string log = folder_ + "/logs/" + name + ".log";
  (void)fault_point("worker.start");
  try {
    logs_.opening(log);
    workers_.push_back(
        start_child(name, worker_arguments(options_, control_, name), log));
  } catch (const ballast_error& problem) {
    // The coordinator ends the run for it, unless it has already ended it,
    // and with it the folder of the log, for a better reason.
    exited(name, {process_end::kind::not_started, 0, problem.what()});
  }
}

/// Excluded workers may come back by themselves, for a while.
void supervisor::kill_expelled() {
  auto grace = std::chrono::seconds(options_.what.elastic.grace_s);
  for (auto one = expelled_.begin(); one != expelled_.end();) {
    if (steady::now() - one->second < grace) {
      ++one;
      continue;
    }
    for (child_process& child : workers_)
      if (child.running && child.name == one->first)
        ::kill(child.pid, SIGKILL);
    for (const adopted_worker& other : adopted_)
      if (other.name == one->first)
        other.kill();
    one = expelled_.erase(one);
  }
}

void supervisor::end(int exit_code, std::string reason) {
  if (!result_)
    result_ = outcome{exit_code, std::move(reason), folder_, {}, false};
}

void supervisor::on_line(const nlohmann::json& line) {
  if (line.contains("ready")) {
    if (opened_) // otherwise the run itself may be the cause of its death
      restarts_.ready();
    control_ = line["ready"].value("control", "");
    http_ = line["ready"].value("http", "");
    if (http_.starts_with("http://"))
      http_ = http_.substr(7);
    if (!options_.http.empty() && http_ != std::exchange(told_, http_))
      say("page: http://" + http_ + "/");
    if (resume_) {
      coordinator_.socket->send(
          {{"resume",
            {{"folder", folder_},
             {"job", to_json(options_.what)},
             {"alive", names_of_running(workers_, adopted_)},
             {"again", asks_again_}}}});
      if (interrupts_ > 0)
        coordinator_.socket->send({{"signal", SIGINT}});
      return;
    }
    std::string run_dir =
        options_.run_dir.empty()
            ? ""
            : std::filesystem::absolute(options_.run_dir).string();
    coordinator_.socket->send(
        {{"job", to_json(options_.what)}, {"run_dir", run_dir}});
  } else if (line.contains("run")) {
    folder_ = line["run"].value("folder", "");
    opened_ = true;
    restarts_.ready();
    if (!line["run"].value("begins", !resume_))
      return;
    for (uint32_t i = 1; i <= options_.what.elastic.workers; ++i)
      start_worker("w" + std::to_string(i));
  } else if (line.contains("taken_over")) {
    asks_again_ = false;
  } else if (line.contains("notice")) {
    say("ballast: " + line["notice"].get<std::string>());
  } else if (line.contains("start")) {
    start_worker(line["start"]);
  } else if (line.contains("expelled")) {
    expelled_[line["expelled"]] = steady::now();
  } else if (line.contains("joined")) {
    // Excluded or not: its process is of use.
    expelled_.erase(line["joined"]);
  } else if (line.contains("refused")) {
    adopted_.clear(); // they are not ours: their run lives, or is another one
    end(died_.empty() ? line["refused"].value("exit_code", 1) : 1,
        (died_.empty() ? "" : died_ + "; ") +
            line["refused"].value("reason", ""));
  } else if (line.contains("ended")) {
    const nlohmann::json& how = line["ended"];
    result_ = outcome{how.value("exit_code", 1), how.value("reason", ""),
                      how.value("folder", ""), how["report"],
                      how.value("discarded", false)};
    // Refused before anything happened: a later resume may still adopt them.
    if (options_.resume && result_->folder.empty())
      adopted_.clear();
  }
}

void supervisor::on_signal() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof info) == ssize_t(sizeof info)) {
    if (info.ssi_signo == SIGCHLD) {
      reap();
      continue;
    }
    // Once: finish cleanly. Twice, or before there is a run: end now. If the
    // coordinator has just died, the next one receives it.
    ++interrupts_;
    bool told = !control_.empty() &&
                coordinator_.socket->send({{"signal", info.ssi_signo}});
    if (interrupts_ > 1 || (!told && folder_.empty()))
      end(130, "interrupted");
  }
  if (interrupts_ == 1 && !result_ && still_.lasts() &&
      !std::exchange(answered_, true))
    say(described(coordinator_) +
        " is stopped: it ends the run once it continues; another Ctrl-C ends "
        "it at once");
}

/// A short stop is not reported.
void supervisor::coordinator_stands(bool still) {
  if (still)
    still_.begins(steady::now().time_since_epoch());
  else
    say(still_.ends(described(coordinator_), steady::now().time_since_epoch()));
}

void supervisor::reap() {
  int status = 0;
  for (pid_t pid;
       (pid = ::waitpid(-1, &status, WNOHANG | WUNTRACED | WCONTINUED)) > 0;) {
    if (WIFSTOPPED(status) || WIFCONTINUED(status)) {
      if (pid == coordinator_.pid)
        coordinator_stands(WIFSTOPPED(status));
      continue;
    }
    if (pid == coordinator_.pid) {
      coordinator_.running = false;
      still_.forget();
      // Its last lines may still be in the socket.
      bool closed = false;
      while (!closed) {
        nlohmann::json line = coordinator_.socket->poll(closed);
        if (!line.is_null())
          on_line(line);
        else if (!closed)
          break;
      }
      auto how = described(coordinator_) + " " + describe(end_of(status));
      if (!restart_coordinator(how, WIFSIGNALED(status)))
        end(1, how);
    }
    for (child_process& one : workers_)
      if (one.pid == pid) {
        one.running = false;
        exited(one.name, end_of(status, one.log));
      }
  }
}

/// Journal and workers hold the whole state, and training continues. No restart
/// if the run was over and only its report is missing; nor if the coordinator
/// ended by itself before it took the job: the next one would as well.
bool supervisor::restart_coordinator(const std::string& how, bool by_signal) {
  auto now = steady::now();
  restarts_.died(now.time_since_epoch());
  const bool had_job = !std::exchange(control_, "").empty();
  if (!result_ && opened_ && stamp_of_report(folder_) != old_report_)
    result_ = outcome_of(folder_, interrupts_ > 0);
  // Before it reported where the run is, it may have begun in the named folder.
  if (folder_.empty() && !options_.run_dir.empty() && had_job && !had_run_ &&
      holds_run(options_.run_dir))
    folder_ = std::filesystem::absolute(options_.run_dir).string();
  if (result_ || (folder_.empty() && !had_job && !by_signal) || interrupts_ > 1)
    return result_.has_value();
  if (std::string limit = restarts_.exceeded(); !limit.empty()) {
    limit += "; the last one: " + how;
    if (!folder_.empty())
      limit += "; " + folder_ +
               " keeps every committed step and the checkpoints, and `ballast "
               "run --resume " +
               folder_ + "` goes on with it";
    end(1, limit);
    return true;
  }
  auto wait = restarts_.wait();
  say(how + ": starts another one" +
      (wait.count() == 0 ? "" : " in " + std::to_string(wait.count()) + " ms"));
  died_ = how;
  resume_ = !folder_.empty(); // otherwise the job is submitted again
  start_due_ = now + wait;
  start_if_due();
  return true;
}

void supervisor::start_if_due() {
  if (result_ || !start_due_ || steady::now() < *start_due_)
    return;
  start_due_.reset();
  coordinator_started_ = steady::now();
  start_coordinator();
}

/// Time until the next timer, if nothing happens before.
int supervisor::poll_ms() const {
  std::chrono::milliseconds out = 200ms;
  if (start_due_)
    out = std::clamp(std::chrono::ceil<std::chrono::milliseconds>(
                         *start_due_ - steady::now()),
                     0ms, out);
  return int(out.count());
}

void supervisor::exited(const std::string& name, const process_end& how) {
  coordinator_.socket->send({{"exited", to_json(name, how)}});
}

bool supervisor::any_worker_running() const {
  return std::any_of(workers_.begin(), workers_.end(),
                     [](const child_process& one) { return one.running; }) ||
         std::any_of(adopted_.begin(), adopted_.end(),
                     [](const adopted_worker& one) { return one.running(); });
}

void supervisor::wait_for_children(std::chrono::milliseconds patience) {
  auto until = steady::now() + patience;
  while (coordinator_.running || any_worker_running()) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - steady::now());
    if (left.count() <= 0)
      return;
    pollfd wait{signals_.get(), POLLIN, 0};
    // An adopted worker is not our child and sends no SIGCHLD.
    ::poll(&wait, 1, int(adopted_.empty() ? left.count() : 20));
    on_signal();
    // The coordinator goes last: its liveness socket ends it.
    if (!any_worker_running() && coordinator_.running && coordinator_.socket)
      ::kill(coordinator_.pid, SIGTERM);
  }
}

void supervisor::kill_children() {
  for (child_process& one : workers_)
    if (one.running)
      ::kill(one.pid, SIGKILL);
  for (const adopted_worker& one : adopted_)
    one.kill();
  if (coordinator_.running)
    ::kill(coordinator_.pid, SIGKILL);
  wait_for_children(5s);
}

outcome supervisor::run() {
  catch_signals();
  had_run_ = holds_run(options_.run_dir);
  if (options_.resume) {
    resume_ = asks_again_ = true;
    folder_ = std::filesystem::absolute(options_.run_dir).string();
    old_report_ = stamp_of_report(folder_);
    adopted_ = find_orphans(folder_);
  }
  coordinator_started_ = steady::now();
  start_coordinator();
  while (!result_) {
    pollfd waits[2] = {
        {signals_.get(), POLLIN, 0},
        {coordinator_.running ? coordinator_.socket->descriptor() : -1, POLLIN,
         0}};
    ::poll(waits, 2, poll_ms());
    start_if_due();
    say(still_.sentence(described(coordinator_),
                        steady::now().time_since_epoch()));
    if (waits[0].revents != 0)
      on_signal();
    kill_expelled();
    if (waits[1].revents != 0) {
      bool closed = false;
      while (!result_) {
        nlohmann::json line = coordinator_.socket->poll(closed);
        if (line.is_null())
          break;
        on_line(line);
      }
      // SIGCHLD shows its end, with the reason.
      if (closed && !result_) {
        // Workers may end first, so more than one signal may come.
        pid_t gone = coordinator_.pid;
        auto until = steady::now() + 2s;
        while (!result_ && coordinator_.running && coordinator_.pid == gone &&
               steady::now() < until) {
          pollfd child{signals_.get(), POLLIN, 0};
          ::poll(&child, 1, 100);
          on_signal();
        }
        if (coordinator_.running && coordinator_.pid == gone)
          end(1, "the coordinator closed its connection");
      }
    }
    if (control_.empty() && coordinator_.running &&
        steady::now() - coordinator_started_ > ready_deadline)
      end(1, "the coordinator did not start within 20 s");
  }
  // Without a report nothing began, or no process is left to write one: no
  // child has anything to finish.
  if (interrupts_ < 2 && result_->report.is_object())
    wait_for_children(result_->exit_code == 1 ? failed_children_deadline
                                              : children_deadline);
  kill_children();
  if (result_->discarded)
    logs_.remove();
  return *result_;
}

} // namespace

int run_supervised(const run_options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  supervisor parent(options);
  outcome how = parent.run();
  tell(how, options.json, resume_command(options, how));
  return how.exit_code;
}

} // namespace ballast::cli
