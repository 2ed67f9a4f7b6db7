/// A drill: real processes reduce in a loop, one of them is hurt (killed,
/// stopped, made to leave, made to abort), and the others must get out of their
/// operation with the right error, soon, and join the next generation with the
/// replacement. Used by the tests and by `ballast bench allreduce --kills`.
///
/// The caller of run_drill plays the control plane: it carries addresses, and
/// after a stop it aborts. Every wait has a deadline; every process it started
/// has ended when it returns.
#pragma once

#include "collectives/fault_point.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

enum class harm : uint8_t { kill, stop, exit, abort };
std::string to_string(harm what);

struct drill_plan {
  std::string backend = "ring";
  int ranks = 4;
  /// More than 1: ranks pretend to be spread over so many hosts.
  int hosts = 1;
  int rounds = 10; // generations, each with one harmed rank
  harm what = harm::kill;
  /// Where it happens; empty: at any time, by a signal from outside.
  std::optional<fault_point> where;
  size_t floats = size_t{1} << 18; // of the largest all-reduce
  /// Deadline of every connect and operation. A backend that sees no death
  /// lets go only then, and may call it a timeout; where the machine is too
  /// busy to keep it without any harm, the round begins again with twice that.
  std::chrono::milliseconds operation{60000};
  bool sees_death = true;
  uint64_t seed = 1;
  std::chrono::milliseconds patience{20000}; // longer counts as a hang
  /// Argument vector that brings a child to run_drill_rank.
  std::vector<std::string> child;
};

struct drill_report {
  /// One a round: from the harm (the abort after a stop) to the moment that
  /// the last survivor is out of its operation.
  std::vector<double> out_ms;
  /// One a round: the deadline that it was done with.
  std::vector<double> operation_ms;
  /// One a round: until the slowest rank has joined.
  std::vector<double> open_ms;
  int crashes = 0;                     // survivors that ended
  int hangs = 0;                       // survivors that did not come out
  std::vector<std::string> complaints; // wrong sums, wrong errors
  bool well() const { return crashes == 0 && hangs == 0 && complaints.empty(); }
};

drill_report run_drill(const drill_plan& plan);

/// True in a process that run_drill started; it must call run_drill_rank.
bool is_drill_rank();
int run_drill_rank();

} // namespace ballast
