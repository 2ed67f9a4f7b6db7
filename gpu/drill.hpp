/// A fault drill: real processes reduce in a loop, a fault is injected into one
/// of them (killed, stopped, made to leave, made to abort), and the others must
/// leave their operation with the right error, soon, and join the next
/// generation with the replacement. Used by the tests and by `ballast bench
/// allreduce --kills`.
///
/// The caller of run_drill plays the control plane: it carries addresses, and
/// aborts after a stop. Every wait has a deadline; all processes it started
/// have ended when it returns.
#pragma once

#include "collectives/fault_point.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::gpu {

enum class harm : uint8_t { kill, stop, exit, abort };
std::string to_string(harm what);

struct drill_plan {
  std::string backend = "ring";
  int ranks = 4;
  /// More than 1: ranks behave as if spread over this many hosts.
  int hosts = 1;
  int rounds = 10; // generations, each with a fault in one rank
  harm what = harm::kill;
  /// Where it happens; empty: at any time, by a signal from outside.
  std::optional<collectives::fault_point> where;
  size_t floats = size_t{1} << 18; // of the largest all-reduce
  /// Deadline of every connect and operation. A backend that does not detect
  /// deaths leaves only then, and may report a timeout; if the machine is too
  /// busy to keep the deadline without any fault, the round is repeated with
  /// twice that.
  std::chrono::milliseconds operation{60000};
  bool sees_death = true;
  uint64_t seed = 1;
  std::chrono::milliseconds patience{20000}; // longer counts as a hang
  /// Argument vector that makes a child call run_drill_rank.
  std::vector<std::string> child;
};

struct drill_report {
  /// One for each round: from the fault (the abort after a stop) until the last
  /// survivor has left its operation.
  std::vector<double> out_ms;
  /// One for each round: the deadline in force.
  std::vector<double> operation_ms;
  /// One for each round: until the slowest rank has joined.
  std::vector<double> open_ms;
  int crashes = 0;                     // survivors whose process ended
  int hangs = 0;                       // survivors still in it
  std::vector<std::string> complaints; // wrong sums, wrong errors
  bool well() const { return crashes == 0 && hangs == 0 && complaints.empty(); }
};

drill_report run_drill(const drill_plan& plan);

/// True in a process that run_drill started; it must call run_drill_rank.
bool is_drill_rank();
int run_drill_rank();

} // namespace ballast::gpu
