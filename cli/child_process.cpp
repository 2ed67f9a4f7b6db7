#include "cli/child_process.hpp"

#include "runtime/errors.hpp"
#include "runtime/unique_fd.hpp"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ballast {

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
  // A group of its own: the terminal's Ctrl-C reaches the supervisor alone.
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
    throw ballast_error(errc::internal,
                        "cannot start " + name + ": " + std::strerror(problem));
  return out;
}

bool adopted_worker::running() const {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline",
                     std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  std::string wanted = std::string("--name") + '\0' + name + '\0';
  return text.find(wanted) != std::string::npos;
}

std::string describe_exit(int status) {
  if (WIFSIGNALED(status)) {
    int number = WTERMSIG(status);
    return "killed by signal " + std::to_string(number) + " (" +
           strsignal(number) + ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

} // namespace ballast
