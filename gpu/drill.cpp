#include "gpu/drill.hpp"

#include "collectives/collective_error.hpp"
#include "collectives/socket.hpp"
#include "runtime/base/random.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace ballast::gpu {

using collectives::collective_errc;

namespace {

using std::chrono::steady_clock;

int64_t as_ns(steady_clock::time_point t) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             t.time_since_epoch())
      .count();
}

/// One rank's process and the two pipes to it.
class rank_process {
public:
  rank_process(const drill_plan& plan, int rank);
  ~rank_process() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  rank_process(const rank_process&) = delete;
  rank_process& operator=(const rank_process&) = delete;

  pid_t pid() const { return pid_; }
  void tell(const std::string& text) {
    (void)!::write(to_.get(), text.data(), text.size());
  }
  /// The next line; empty if none comes before `until` or the process has
  /// ended.
  std::string hear(steady_clock::time_point until);
  bool ended() const { return ended_; }
  void signal(int number) const { ::kill(pid_, number); }

private:
  pid_t pid_ = -1;
  unique_fd to_;
  unique_fd from_;
  std::string heard_;
  bool ended_ = false;
};

rank_process::rank_process(const drill_plan& plan, int rank) {
  int down[2], up[2];
  if (::pipe2(down, O_CLOEXEC) != 0 || ::pipe2(up, O_CLOEXEC) != 0) {
    throw std::runtime_error("cannot make a pipe");
  }
  // High numbers first: the four may include 3 and 4.
  unique_fd read_end(::fcntl(down[0], F_DUPFD_CLOEXEC, 10));
  unique_fd write_end(::fcntl(up[1], F_DUPFD_CLOEXEC, 10));
  ::close(down[0]);
  ::close(up[1]);
  to_ = unique_fd(down[1]);
  from_ = unique_fd(up[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, read_end.get(), 3);
  posix_spawn_file_actions_adddup2(&actions, write_end.get(), 4);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv;
  for (const std::string& a : plan.child) {
    argv.push_back(const_cast<char*>(a.c_str()));
  }
  argv.push_back(nullptr);
  std::string setting =
      "BALLAST_DRILL=" + plan.backend + " " + std::to_string(rank) + " " +
      std::to_string(plan.ranks) + " " + std::to_string(plan.floats) + " " +
      std::to_string(plan.operation.count());
  std::vector<char*> environment;
  for (char** e = environ; *e != nullptr; ++e) {
    environment.push_back(*e);
  }
  environment.push_back(setting.data());
  std::string host =
      "BALLAST_HOST_ID=drill-" + std::to_string(rank % plan.hosts);
  if (plan.hosts > 1) {
    environment.push_back(host.data());
  }
  environment.push_back(nullptr);
  int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr,
                            argv.data(), environment.data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    throw std::runtime_error(std::string("cannot start a rank: ") +
                             std::strerror(error));
  }
}

std::string rank_process::hear(steady_clock::time_point until) {
  while (true) {
    if (size_t end = heard_.find('\n'); end != std::string::npos) {
      std::string line = heard_.substr(0, end);
      heard_.erase(0, end + 1);
      return line;
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        until - steady_clock::now());
    pollfd p{from_.get(), POLLIN, 0};
    if (left.count() <= 0 ||
        ::poll(&p, 1, static_cast<int>(left.count())) < 0) {
      return {};
    }
    if (p.revents == 0) {
      continue;
    }
    char bytes[4096];
    ssize_t got = ::read(from_.get(), bytes, sizeof bytes);
    if (got <= 0) {
      ended_ = true;
      return {};
    }
    heard_.append(bytes, static_cast<size_t>(got));
  }
}

class drill {
public:
  explicit drill(const drill_plan& plan)
      : plan_(plan), random_(plan.seed, 0),
        ranks_(static_cast<size_t>(plan.ranks)) {}

  drill_report run() {
    for (int round = 0; round < plan_.rounds; ++round) {
      one_round(static_cast<uint64_t>(round) + 1);
      report_.operation_ms.push_back(
          static_cast<double>(plan_.operation.count()));
      if (report_.hangs + report_.crashes > 10) {
        break; // the cause is known already
      }
    }
    for (auto& rank : ranks_) {
      if (rank) {
        rank->tell("end\n");
        wait_for_end(*rank);
        rank.reset();
      }
    }
    return std::move(report_);
  }

private:
  steady_clock::time_point patience() const {
    return steady_clock::now() + std::max(plan_.patience, 8 * plan_.operation);
  }

  void complain(int rank, uint64_t round, const std::string& what) {
    report_.complaints.push_back("round " + std::to_string(round) + ", rank " +
                                 std::to_string(rank) + ": " + what);
  }

  static void wait_for_end(rank_process& rank) {
    // A process that has sent its last line ends by itself; its pipe shows
    // when.
    auto until = steady_clock::now() + std::chrono::seconds(5);
    while (!rank.ended() && steady_clock::now() < until) {
      rank.hear(until);
    }
  }

  /// With a deadline that this machine can keep: until the fault is injected it
  /// must not pass, however busy the machine is.
  void one_round(uint64_t round) {
    const int victim = static_cast<int>(
        random_.below(static_cast<uint64_t>(plan_.ranks), 4 * round));
    while (open(round, victim)) {
      if (auto harmed = do_harm(round, victim)) {
        return collect(round, victim, *harmed);
      }
      if (!late_) {
        return;
      }
      plan_.operation *= 2;
    }
  }

  /// `rank` reported a failure before the fault was injected. Drops the round;
  /// this is an error unless a deadline passed that may pass here and was
  /// short.
  std::nullopt_t unharmed(uint64_t round, int rank, const std::string& line) {
    constexpr auto enough = std::chrono::seconds(60);
    late_ = is_late(line);
    for (int r = 0; r < plan_.ranks; ++r) {
      ranks_[r]->tell("abort\n");
    }
    for (int r = 0; r < plan_.ranks; ++r) {
      if (r != rank && !late_) {
        late_ = is_late(hear_out(*ranks_[r]));
      }
    }
    late_ = late_ && !plan_.sees_death && plan_.operation < enough;
    if (!late_) {
      complain(rank, round, "came to no harm but said '" + line + "'");
    }
    for (auto& one : ranks_) {
      one.reset();
    }
    return std::nullopt;
  }

  /// A rank whose deadline passed closes its links, and its peers see that.
  static bool is_late(const std::string& line) {
    const auto code = code_of(line);
    return code == collective_errc::timeout ||
           code == collective_errc::peer_lost;
  }

  /// The error code with which a rank left its operations.
  static std::optional<collective_errc> code_of(const std::string& line) {
    std::istringstream words(line);
    std::string out, at, code;
    words >> out >> at >> code;
    return out == "out" ? parse_word<collective_errc>(code) : std::nullopt;
  }

  /// All ranks prepare and receive all addresses.
  bool open(uint64_t round, int victim) {
    for (int r = 0; r < plan_.ranks; ++r) {
      if (!ranks_[r]) {
        ranks_[r] = std::make_unique<rank_process>(plan_, r);
      }
      int where =
          r == victim && plan_.where ? static_cast<int>(*plan_.where) : -1;
      // Sometimes at a later pass through the point.
      const bool repeats =
          plan_.where && *plan_.where >= collectives::fault_point::operation;
      uint64_t hits = repeats ? 1 + random_.below(30, 4 * round + 1) : 1;
      ranks_[r]->tell("prepare " + std::to_string(round) + " " +
                      std::to_string(where) + " " + std::to_string(hits) + " " +
                      std::to_string(static_cast<int>(plan_.what)) + "\n");
    }
    std::string all;
    for (int r = 0; r < plan_.ranks; ++r) {
      std::string line = ranks_[r]->hear(patience());
      if (line.rfind("address ", 0) != 0) {
        complain(r, round, "no address but '" + line + "'");
        ranks_[r].reset();
        return false;
      }
      all += line.substr(8) + "\n";
    }
    for (auto& rank : ranks_) {
      rank->tell(all);
    }
    return true;
  }

  /// Injects the fault and returns its time by the processes' common clock, if
  /// it happened.
  std::optional<int64_t> do_harm(uint64_t round, int victim) {
    if (plan_.where) {
      return wait_for_fault(round, victim);
    }
    double slowest_ms = 0;
    for (int r = 0; r < plan_.ranks; ++r) {
      std::string line = ranks_[r]->hear(patience());
      if (line.rfind("open ", 0) != 0) {
        return unharmed(round, r, line);
      }
      slowest_ms = std::max(slowest_ms, std::stod(line.substr(5)) / 1e6);
    }
    report_.open_ms.push_back(slowest_ms);
    std::this_thread::sleep_for(
        std::chrono::microseconds(random_.below(20000, 4 * round + 2)));
    int64_t now = as_ns(steady_clock::now());
    ranks_[victim]->signal(plan_.what == harm::stop ? SIGSTOP : SIGKILL);
    if (plan_.what == harm::stop) {
      now = abort_survivors(victim);
    }
    return now;
  }

  std::optional<int64_t> wait_for_fault(uint64_t round, int victim) {
    const auto until = patience();
    while (true) {
      std::string line = ranks_[victim]->hear(until);
      if (line.rfind("fault ", 0) == 0) {
        int64_t at = std::stoll(line.substr(6));
        return must_abort() ? abort_survivors(victim) : at;
      }
      if (line.rfind("open ", 0) != 0) {
        return unharmed(round, victim, line);
      }
    }
  }

  /// Only the control plane notices a silent rank, or one that never came.
  bool must_abort() const {
    return plan_.what == harm::stop ||
           (plan_.where && *plan_.where < collectives::fault_point::after_open);
  }

  /// The reaction of a coordinator to a silent worker.
  int64_t abort_survivors(int victim) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    int64_t now = as_ns(steady_clock::now());
    for (int r = 0; r < plan_.ranks; ++r) {
      if (r != victim) {
        ranks_[r]->tell("abort\n");
      }
    }
    return now;
  }

  /// Every living rank must leave its operation; the dead are replaced.
  void collect(uint64_t round, int victim, int64_t harmed) {
    const bool victim_dies =
        plan_.what == harm::kill || plan_.what == harm::exit;
    double last_ms = 0;
    for (int r = 0; r < plan_.ranks; ++r) {
      if (r == victim && victim_dies) {
        continue;
      }
      if (r == victim && plan_.what == harm::stop) {
        ranks_[r]->signal(SIGCONT);
        ranks_[r]->tell("abort\n");
      }
      std::string line = hear_out(*ranks_[r]);
      if (line.empty()) {
        ranks_[r]->ended() ? ++report_.crashes : ++report_.hangs;
        complain(r, round, ranks_[r]->ended() ? "crashed" : "hangs");
        ranks_[r].reset();
        continue;
      }
      std::istringstream words(line);
      std::string out;
      int64_t at = 0;
      words >> out >> at;
      if (out != "out") {
        complain(r, round, line);
        ranks_[r].reset();
        continue;
      }
      check_error(r, round, victim, line);
      if (r != victim) {
        last_ms = std::max(last_ms, static_cast<double>(at - harmed) / 1e6);
      }
      if (!must_abort() || (r == victim && plan_.what == harm::abort)) {
        ranks_[r]->tell("abort\n"); // nothing to abort: ends its generation
      }
    }
    if (victim_dies) {
      ranks_[victim].reset();
    }
    report_.out_ms.push_back(last_ms);
  }

  std::string hear_out(rank_process& rank) {
    const auto until = patience();
    std::string line = rank.hear(until);
    while (line.rfind("open ", 0) == 0 || line.rfind("fault ", 0) == 0) {
      line = rank.hear(until);
    }
    return line;
  }

  void check_error(int rank, uint64_t round, int victim,
                   const std::string& line) {
    using error = collective_errc;
    const std::optional<error> code = code_of(line);
    const bool died = plan_.what == harm::kill || plan_.what == harm::exit;
    const bool right = died
                           ? code == error::peer_lost ||
                                 (must_abort() && code == error::aborted)
                           : code == error::aborted ||
                                 (code == error::peer_lost && rank != victim) ||
                                 (plan_.what == harm::stop && rank == victim);
    const bool late = code == error::timeout && !plan_.sees_death;
    if (!right && !late) {
      complain(rank, round, "wrong error: " + line);
    }
  }

  drill_plan plan_;
  counter_random random_;
  std::vector<std::unique_ptr<rank_process>> ranks_;
  drill_report report_;
  bool late_ = false; // the last round was dropped because a deadline passed
};

} // namespace

std::string to_string(harm what) {
  switch (what) {
  case harm::kill:
    return "kill";
  case harm::stop:
    return "stop";
  case harm::exit:
    return "exit";
  case harm::abort:
    return "abort";
  }
  return "unknown";
}

drill_report run_drill(const drill_plan& plan) {
  return drill(plan).run();
}

} // namespace ballast::gpu
