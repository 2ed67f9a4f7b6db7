/// The commit rule. A worker has *applied* a step when its parameters contain
/// it; a step is *committed* when every member of the current generation has
/// applied it. Only committed steps are ever shown outside.
#pragma once

#include "runtime/ids.hpp"
#include "runtime/messages.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace ballast {

/// A line of steps.jsonl.
struct committed_step {
  step_number step{};
  epoch_number epoch{};
  ballast::generation generation{};
  plan_number plan{};
  uint32_t world = 0;
  uint64_t samples = 0;
  double loss = 0;
  uint64_t t_ns = 0; // first apply among those that hold it
};

/// The watermark of one generation. Feed it every rank's records in order; out
/// come committed steps, each once, without gap.
class commit_tracker {
public:
  /// `base`: the last step that every member already holds.
  commit_tracker(generation gen, size_t world, step_number base);

  /// Records of steps that `rank` applied. Already known ones are ignored, so
  /// that a repeated report does no harm. Returns what became committed.
  std::vector<committed_step> applied(size_t rank,
                                      const std::vector<step_record>& steps);

  step_number committed() const { return committed_; }
  step_number applied_by(size_t rank) const { return applied_[rank]; }

private:
  generation generation_;
  step_number committed_;
  std::vector<step_number> applied_;   // by rank
  std::deque<committed_step> waiting_; // steps committed_ + 1, + 2, ...
};

} // namespace ballast
