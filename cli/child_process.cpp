#include "cli/child_process.hpp"

#include "cli/process_identity.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/unique_fd.hpp"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <spawn.h>
#include <string_view>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ballast::cli {

child_process start_child(const std::string& name,
                          std::vector<std::string> arguments,
                          const std::string& log) {
  constexpr int child_fd = 3;
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw ballast_error(errc::internal,
                        std::string("no socket pair: ") + std::strerror(errno));
  child_process out;
  out.name = name;
  out.log = log;
  out.socket = std::make_unique<liveness_socket>(ends[0]);
  // dup2 of a descriptor onto itself would keep close-on-exec.
  unique_fd theirs(ends[1]);
  if (theirs.get() == child_fd)
    theirs.reset(::fcntl(child_fd, F_DUPFD_CLOEXEC, child_fd + 1));

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY,
                                   0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY,
                                   0);
  if (!log.empty())
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, log.c_str(),
                                     O_WRONLY | O_CREAT | O_APPEND, 0644);
  posix_spawn_file_actions_adddup2(&files, theirs.get(), child_fd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  sigset_t all;
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  // Its own process group, so that the terminal's Ctrl-C reaches the supervisor
  // alone.
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK |
                                            POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETPGROUP);

  arguments.insert(arguments.begin(), "ballast");
  arguments.push_back("--liveness-fd");
  arguments.push_back(std::to_string(child_fd));
  std::vector<char*> argv;
  for (std::string& one : arguments)
    argv.push_back(one.data());
  argv.push_back(nullptr);
  int problem = ::posix_spawn(&out.pid, "/proc/self/exe", &files, &attributes,
                              argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (problem != 0)
    throw ballast_error(
        errc::internal,
        "cannot start the process " + name + ": " + std::strerror(problem) +
            (problem == EAGAIN
                 ? "; end other programs, or raise the limit of processes and "
                   "threads (`ulimit -u`, pids.max of the container)"
                 : ""));
  return out;
}

namespace {

/// True if the process has this log as its stderr. In a copy of a run
/// directory, or in the original of a copy, workers.json may name the living
/// workers of another run.
bool writes(pid_t pid, const std::string& log) {
  namespace fs = std::filesystem;
  const fs::path stderr_of = "/proc/" + std::to_string(pid) + "/fd/2";
  std::error_code problem;
  if (fs::exists(log, problem))
    return fs::equivalent(stderr_of, log, problem) && !problem;
  const fs::path link = fs::read_symlink(stderr_of, problem);
  return link == fs::weakly_canonical(log, problem).native() + " (deleted)";
}

} // namespace

bool adopted_worker::running() const {
  if (start_ticks == 0 || cli::start_ticks(pid) != start_ticks)
    return false;
  // A node started by hand serves other runs, too.
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline",
                     std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::string wanted = std::string("--name") + '\0' + name + '\0';
  return text.find(wanted) != std::string::npos &&
         text.find("--liveness-fd") != std::string::npos && writes(pid, log);
}

void adopted_worker::kill() const {
  if (running())
    signal_process(pid, start_ticks, SIGKILL);
}

std::vector<adopted_worker> find_orphans(const std::string& folder) {
  std::vector<adopted_worker> out;
  std::error_code ignored; // reading a folder would throw
  if (!std::filesystem::is_regular_file(folder + "/workers.json", ignored))
    return out;
  std::ifstream file(folder + "/workers.json");
  nlohmann::json listed = nlohmann::json::parse(file, nullptr, false);
  if (!listed.is_object() || !listed.contains("workers"))
    return out;
  const std::string boot = boot_id();
  for (const nlohmann::json& one : listed["workers"]) {
    adopted_worker worker{one.value("name", ""),
                          one.value("pid", -1),
                          one.value("start_ticks", uint64_t{0}),
                          {}};
    worker.log = folder + "/logs/" + worker.name + ".log";
    if (!boot.empty() && one.value("boot_id", "") == boot && worker.running())
      out.push_back(worker);
  }
  return out;
}

std::vector<std::string>
names_of_running(const std::vector<child_process>& children,
                 const std::vector<adopted_worker>& adopted) {
  std::vector<std::string> out;
  for (const child_process& one : children)
    if (one.running)
      out.push_back(one.name);
  for (const adopted_worker& one : adopted)
    if (one.running())
      out.push_back(one.name);
  return out;
}

std::string described(const child_process& child) {
  return "the " + child.name + " (pid " + std::to_string(child.pid) + ")";
}

std::string last_words(const std::string& log) {
  constexpr std::string_view prefix = "ballast: ";
  std::ifstream file(log);
  std::string line;
  std::string last;
  while (std::getline(file, line))
    if (!line.empty())
      last = line;
  return last.starts_with(prefix) ? last.substr(prefix.size()) : "";
}

process_end end_of(int status, const std::string& log) {
  const std::string words = log.empty() ? std::string() : last_words(log);
  if (WIFSIGNALED(status))
    return {process_end::kind::killed, WTERMSIG(status), words};
  return {process_end::kind::exited, WEXITSTATUS(status), words};
}

} // namespace ballast::cli
