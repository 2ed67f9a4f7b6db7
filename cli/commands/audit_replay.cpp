#include "cli/commands/audit_replay.hpp"

#include "actors/run_parent.hpp"
#include "cli/commands/audit_files.hpp"
#include "cli/commands/ending_signals.hpp"
#include "cli/node/identity.hpp"
#include "data/graph/temporary_folder.hpp"
#include "monitor/logs/digest_log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/job/job.hpp"
#include "store/journal.hpp"
#include "store/json_file.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <spawn.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// The job of the run, for one worker that nobody disturbs.
json job_again(const fs::path& folder) {
  json job = store::read_json_file(folder / "job.json");
  if (!job.is_object() || !job.contains("train") || !job.contains("elastic"))
    throw ballast_error(errc::run_dir_unusable, (folder / "job.json").string() +
                                                    " is missing or no job");
  if (job["train"].value("reduction", "") !=
      to_string(reduction_kind::canonical))
    throw ballast_error(
        errc::invalid_job,
        folder.string() +
            ": /train/reduction is not \"canonical\", so another run ends "
            "with other weights; only runs with \"canonical\" can be replayed",
        "/train/reduction");
  job["name"] = "replay";
  job["elastic"]["workers"] = 1;
  job["elastic"]["min_workers"] = 1;
  // It leaves nothing, least of all where the run has put its own.
  job["checkpoint"] = {{"every_steps", 1'000'000'000'000},
                       {"every_s", 0},
                       {"memory_every_s", 0}};
  if (job.contains("init") && job["init"].value("from", "") != "")
    job["init"]["from"] =
        fs::absolute(folder / actors::parent_weights_name).string();
  if (job.contains("stop") && job["stop"].is_object())
    job["stop"].erase("max_minutes"); // how long it takes here says nothing
  job["faults"] = false;
  job["trace_samples"] = false;
  return job;
}

void check_build(const fs::path& folder,
                 const store::journal_content& journal) {
  if (journal.run && !journal.run->build.empty() &&
      journal.run->build != build_id())
    throw ballast_error(errc::run_dir_unusable,
                        folder.string() + " was trained by build " +
                            journal.run->build + ", this is build " +
                            build_id() +
                            ", which may compute other bits; replay it with "
                            "the program that trained it");
}

/// What differs says nothing of the run where this machine computes otherwise.
void check_probe(const fs::path& folder, const store::journal_content& run,
                 const store::journal_content& again) {
  if (!run.probe.empty() && !again.probe.empty() && run.probe != again.probe)
    throw ballast_error(
        errc::unlike_workers,
        "this machine computes other bits of the same rows and parameters (" +
            again.probe + ") than the workers of " + folder.string() +
            " did (" + run.probe +
            "): another CPU, another library, or variables of the environment "
            "such as MKL_CBWR or ONEDNN_MAX_CPU_ISA; replay it on a machine "
            "like theirs, or train with train.kernels \"portable\"");
}

std::string content_of(const fs::path& folder) {
  const json manifest = store::read_json_file(folder / "manifest.json");
  return manifest.is_object() ? manifest.value("content_id", "") : "";
}

/// `ballast run`, until it ends or is ended.
class other_run {
public:
  other_run(std::vector<std::string> arguments, const fs::path& log) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
    for (int one : {STDOUT_FILENO, STDERR_FILENO})
      posix_spawn_file_actions_addopen(&files, one, log.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND, 0600);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes, &none);
    // Of its own group: Ctrl-C reaches it by our hand alone.
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    arguments.insert(arguments.begin(), "ballast");
    std::vector<char*> argv;
    for (std::string& one : arguments)
      argv.push_back(one.data());
    argv.push_back(nullptr);
    const int problem = ::posix_spawn(&pid_, "/proc/self/exe", &files,
                                      &attributes, argv.data(), environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (problem != 0)
      throw ballast_error(errc::internal,
                          std::string("cannot start `ballast run`: ") +
                              std::strerror(problem));
  }
  ~other_run() {
    if (pid_ < 0)
      return;
    ::kill(pid_, SIGTERM);
    (void)wait(0);
  }
  other_run(const other_run&) = delete;

  /// Its wait status once it has ended.
  std::optional<int> wait(int flags) {
    int status = 0;
    pid_t found;
    do
      found = ::waitpid(pid_, &status, flags);
    while (found < 0 && errno == EINTR);
    if (found == 0)
      return std::nullopt;
    pid_ = -1;
    return status;
  }

private:
  pid_t pid_ = -1;
};

std::string last_line(const fs::path& log) {
  std::ifstream in(log);
  std::string out;
  for (std::string line; std::getline(in, line);)
    if (!line.empty())
      out = line;
  return out;
}

/// Whether a run has done a step, by its digests. Looks only where they have
/// grown. A job may be much longer than a run of it that was stopped.
class came_to {
public:
  /// Without a step it never has.
  came_to(fs::path digests, std::optional<step_number> last)
      : file_(std::move(digests)), last_(last) {}

  bool operator()() {
    std::error_code none;
    const uintmax_t now = last_ ? fs::file_size(file_, none) : 0;
    if (none || now == seen_)
      return false;
    seen_ = now;
    const auto digests = monitor::read_digests(file_);
    return !digests.empty() && digests.back().step >= last_;
  }

private:
  fs::path file_;
  std::optional<step_number> last_;
  uintmax_t seen_ = 0;
};

/// Trains it, to the end or until it has digests of that step; throws where it
/// does not get there.
void train(const json& job, const fs::path& folder, const fs::path& room,
           std::optional<step_number> until) {
  std::ofstream(room / "job.json") << json_text(job) << "\n";
  const fs::path run = room / "run";
  const fs::path log = room / "log";
  ending_signals signals;
  other_run child({"run", (room / "job.json").string(), "--run-dir",
                   run.string(), "--no-progress"},
                  log);
  came_to enough(run / "digests.jsonl", until);
  const std::string expected = content_of(folder);
  std::string content; // empty: the data are not prepared yet
  while (true) {
    if (content.empty()) {
      content = content_of(run);
      if (!content.empty() && content != expected)
        throw ballast_error(
            errc::invalid_job,
            folder.string() +
                ": the data that /data names are not those that the run was "
                "trained on (content " +
                content + ", not " + expected +
                " of manifest.json); put the old ones in their place",
            "/data");
    }
    if (signals.number() != 0)
      throw ballast_error(errc::stopped, "ended by a signal");
    if (enough())
      return;
    if (const auto status = child.wait(WNOHANG)) {
      if (enough()) // and then it failed, as the run did
        return;
      if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
        return;
      throw ballast_error(errc::internal,
                          "the replay failed: " + last_line(log));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

} // namespace

replay_report replay_run(const fs::path& folder) {
  json job = job_again(folder);
  const store::journal_content journal = store::read_journal(folder);
  check_build(folder, journal);
  replay_report out;
  const step_number last = std::max(journal.committed, last_step(folder));
  out.steps = value(last);
  if (out.steps == 0)
    throw ballast_error(errc::run_dir_unusable,
                        folder.string() + " has no committed step to repeat");
  const std::vector<left_behind> left = what_it_left(folder, last);
  json& every_steps = job["train"]["digest_every_steps"];
  const auto every = every_steps.get<uint64_t>();
  out.digests_due = every > 0 ? out.steps / every : 0;
  std::optional<step_number> until;
  if (!has_ended(folder)) {
    until = last;
    every_steps = std::gcd(every, out.steps);
  }
  for (const left_behind& one : left) {
    every_steps = std::gcd(every_steps.get<uint64_t>(), value(one.after));
    if (until)
      until = std::max(*until, one.after);
  }
  const data::rows_folder room = data::rows_folder::make();
  train(job, folder, room.path(), until);
  compare_runs(folder, room.path() / "run", left, out);
  for (std::string& one : audit_all(folder).first_problems)
    out.problems.push_back(std::move(one));
  if (!out.problems.empty())
    check_probe(folder, journal, store::read_journal(room.path() / "run"));
  return out;
}

} // namespace ballast::cli
