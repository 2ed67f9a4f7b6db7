/// A child of the supervisor: this program with other arguments, in a process
/// group of its own, with one end of a liveness socket and no other descriptor
/// of ours.
#pragma once

#include "cli/liveness.hpp"
#include "runtime/messages/loss_cause.hpp"

#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ballast::cli {

struct child_process {
  std::string name;
  pid_t pid = -1;
  std::string log; // the file of its stderr
  std::unique_ptr<liveness_socket> socket;
  bool running = true;
};

/// "the coordinator (pid 4711)", for messages.
std::string described(const child_process& child);

/// Starts `ballast ARGUMENTS... --liveness-fd 3`. stdin and stdout are
/// /dev/null; stderr is appended to `log`, or inherited if it is empty. Throws
/// ballast_error{internal}.
child_process start_child(const std::string& name,
                          std::vector<std::string> arguments,
                          const std::string& log);

/// A worker of a run whose supervisor was killed: not our child.
struct adopted_worker {
  std::string name;
  pid_t pid = -1;
  uint64_t start_ticks = 0; // of this boot
  std::string log;          // the log of its run, which it writes

  /// The process with that pid is still that worker.
  bool running() const;
  /// Sends SIGKILL if it is.
  void kill() const;
};

/// The living workers named in workers.json of the run in `folder`. Excludes
/// processes of uncertain identity.
std::vector<adopted_worker> find_orphans(const std::string& folder);

std::vector<std::string>
names_of_running(const std::vector<child_process>& children,
                 const std::vector<adopted_worker>& adopted);

/// From waitpid's status, with the last words of its log if it has one.
process_end end_of(int status, const std::string& log = {});

/// Why a process ended with an error, from the last line of its log, if there
/// is one.
std::string last_words(const std::string& log);

} // namespace ballast::cli
