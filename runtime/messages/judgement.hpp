/// Which evaluation of a run was the best so far, whether the run ends because
/// of that (the job's `stop`), and whose parameters it keeps (`keep.best`).
///
/// A judgement is a plain value that takes in one evaluation after another. The
/// results of an evaluation have the same bits on every rank, so coordinator
/// and workers, each with a value of its own, judge alike without a message.
/// Whoever begins or goes back takes over the value of that step. judge.hpp has
/// the rules.
#pragma once

#include "runtime/base/ids.hpp"

#include <cstdint>
#include <tuple>

namespace ballast {

struct best_so_far {
  epoch_number epoch{}; // 0: none yet
  step_number step{};   // after which it was evaluated
  double value = 0;
  auto fields() { return std::tie(epoch, step, value); }
  friend bool operator==(const best_so_far&, const best_so_far&) = default;
};

struct judgement {
  step_number judged{}; // after which the newest that it took in was made,
  epoch_number epoch{}; // of that epoch
  best_so_far stop;     // by stop.metric; what patience compares with
  uint64_t since = 0;   // evaluations without a better one
  bool reached = false; // stop.target
  best_so_far keep;     // by keep.best.metric
  auto fields() { return std::tie(judged, epoch, stop, since, reached, keep); }
  friend bool operator==(const judgement&, const judgement&) = default;
};

} // namespace ballast
