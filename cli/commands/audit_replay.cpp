#include "cli/commands/audit_replay.hpp"

#include "cli/commands/ending_signals.hpp"
#include "cli/node/identity.hpp"
#include "data/graph/temporary_folder.hpp"
#include "data/model/safetensors.hpp"
#include "monitor/logs/digest_log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/job/job.hpp"
#include "store/journal.hpp"
#include "store/json_file.hpp"
#include "store/json_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
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

/// Trains it; throws where that does not end well.
void train(const json& job, const fs::path& folder, const fs::path& room) {
  std::ofstream(room / "job.json") << json_text(job) << "\n";
  const fs::path run = room / "run";
  const fs::path log = room / "log";
  ending_signals signals;
  other_run child({"run", (room / "job.json").string(), "--run-dir",
                   run.string(), "--no-progress"},
                  log);
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
    if (const auto status = child.wait(WNOHANG)) {
      if (WIFEXITED(*status) && WEXITSTATUS(*status) == 0)
        return;
      throw ballast_error(errc::internal,
                          "the replay failed: " + last_line(log));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

/// The first tensor that differs, empty: none.
std::string first_other(const monitor::step_digests& was,
                        const monitor::step_digests& is) {
  for (size_t i = 0; i < std::min(was.tensors.size(), is.tensors.size()); ++i)
    if (was.tensors[i] != is.tensors[i])
      return was.tensors[i].first;
  return was.tensors.size() == is.tensors.size() ? "" : "the list of tensors";
}

/// So many steps have digests, by the job.
uint64_t digests_due(const json& job, uint64_t steps) {
  const uint64_t every =
      job.at(json::json_pointer("/train/digest_every_steps")).get<uint64_t>();
  return every > 0 ? steps / every : 0;
}

void compare_digests(const fs::path& folder, const fs::path& run,
                     replay_report& out) {
  std::map<step_number, monitor::step_digests> again;
  for (monitor::step_digests& one :
       monitor::read_digests(run / "digests.jsonl"))
    again.insert_or_assign(one.step, std::move(one));
  for (const monitor::step_digests& was :
       monitor::read_digests(folder / "digests.jsonl")) {
    const auto is = again.find(was.step);
    if (is == again.end())
      continue;
    ++out.digests_compared;
    const std::string tensor = first_other(was, is->second);
    if (tensor.empty())
      continue;
    out.problems.push_back("after step " + to_string(was.step) +
                           " the parameters differ, first in '" + tensor +
                           "'; all digests before it agree");
    return;
  }
}

/// The loss of each step, as its text.
std::map<uint64_t, std::string> losses_of(const fs::path& run) {
  const fs::path file = run / "steps.jsonl";
  std::map<uint64_t, std::string> out;
  const auto broken = [&](uint64_t line, const std::string& why) {
    throw ballast_error(errc::run_dir_unusable, file.string() + " line " +
                                                    std::to_string(line) +
                                                    " is no step: " + why);
  };
  if (!store::for_each_json_line(
          file,
          [&](const json& one, uint64_t) {
            out.insert_or_assign(one.at("step").get<uint64_t>(),
                                 json_text(one.at("loss")));
          },
          broken))
    throw ballast_error(errc::run_dir_unusable,
                        file.string() + " cannot be read");
  return out;
}

void compare_losses(const fs::path& folder, const fs::path& run,
                    replay_report& out) {
  const std::map<uint64_t, std::string> again = losses_of(run);
  for (const auto& [step, loss] : losses_of(folder)) {
    const auto is = again.find(step);
    ++out.losses_compared;
    if (is != again.end() && is->second == loss)
      continue;
    out.problems.push_back("the loss of step " + std::to_string(step) + " is " +
                           (is == again.end() ? "not there" : is->second) +
                           ", was " + loss + "; all before it agree");
    return;
  }
}

/// Of a run that has ended with a model.
void compare_models(const fs::path& folder, const fs::path& run,
                    replay_report& out) {
  const json was = store::read_json_file(folder / "report.json");
  const json is = store::read_json_file(run / "report.json");
  if (!was.is_object() || was.value("state", "") != "done")
    return;
  const std::string expected = was.value("weights_sha256", "");
  const std::string found =
      is.is_object() ? is.value("weights_sha256", "") : "";
  if (expected == found) {
    out.weights_sha256 = found;
    return;
  }
  std::string tensor;
  const data::tensor_file before =
      data::read_safetensors((folder / "model.safetensors").string());
  const data::tensor_file after =
      data::read_safetensors((run / "model.safetensors").string());
  for (size_t i = 0; i < std::min(before.tensors.size(), after.tensors.size());
       ++i) {
    const auto& a = before.tensors[i].values;
    const auto& b = after.tensors[i].values;
    if (a.size() != b.size() ||
        std::memcmp(a.data(), b.data(), a.size_bytes()) != 0) {
      tensor = ", first '" + before.tensors[i].name + "'";
      break;
    }
  }
  out.problems.push_back("the model differs" + tensor + ": weights_sha256 is " +
                         found + ", was " + expected);
}

} // namespace

replay_report replay_run(const fs::path& folder) {
  const json job = job_again(folder);
  const store::journal_content journal = store::read_journal(folder);
  check_build(folder, journal);
  replay_report out;
  out.steps = value(journal.committed);
  out.digests_due = digests_due(job, out.steps);
  const data::rows_folder room = data::rows_folder::make();
  train(job, folder, room.path());
  compare_digests(folder, room.path() / "run", out);
  compare_losses(folder, room.path() / "run", out);
  compare_models(folder, room.path() / "run", out);
  return out;
}

} // namespace ballast::cli
