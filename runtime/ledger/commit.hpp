/// The commit rule. A worker has *applied* a step when its parameters contain
/// it; a step is *committed* when every member of the current generation has
/// applied it. Only committed steps are ever visible outside.
#pragma once

#include "runtime/base/ids.hpp"

#include <cstdint>
#include <map>
#include <vector>

namespace ballast::ledger {

/// One applied step, as one worker saw it.
struct step_record {
  step_number step{};
  epoch_number epoch{};
  plan_number plan{};
  uint64_t samples = 0; // of all workers
  double loss = 0;      // mean over those samples
  uint64_t t_ns = 0;    // CLOCK_MONOTONIC when it was applied
};

/// A line of steps.jsonl.
struct committed_step {
  step_number step{};
  epoch_number epoch{};
  ballast::generation generation{}; // that of the plan; set by the caller
  plan_number plan{};
  uint32_t world = 0; // likewise
  uint64_t samples = 0;
  double loss = 0;
  uint64_t t_ns = 0; // the first apply among the workers that hold it
};

/// The commit watermark of one generation. The caller passes every rank's
/// records in order and receives committed steps, each once, without gaps.
class commit_tracker {
public:
  /// `committed`: the watermark so far. `base`: the last step of earlier
  /// generations in the parameters of this one. `inherited`: the known records
  /// of the steps between; note() may add the rest.
  commit_tracker(size_t world, step_number committed, step_number base,
                 const std::vector<committed_step>& inherited = {});

  /// Records of steps that `rank` applied. Known records are ignored, so
  /// repeated reports are harmless. Returns the steps that became committed.
  std::vector<committed_step> applied(size_t rank,
                                      const std::vector<step_record>& steps);
  /// The parameters of `rank` contain `step`, and perhaps later ones.
  std::vector<committed_step> holds(size_t rank, step_number step);
  /// Records of applied steps from any source.
  void note(const std::vector<step_record>& steps);

  step_number committed() const { return committed_; }
  step_number base() const { return base_; }
  step_number applied_by(size_t rank) const { return applied_[rank]; }
  /// Steps up to `last` that some rank, but not all, applied: the inheritance
  /// of a later generation with that base.
  std::vector<committed_step> waiting(step_number last) const;
  std::vector<committed_step> waiting() const {
    return waiting(step_number{UINT64_MAX});
  }

private:
  std::vector<committed_step> collect();

  step_number committed_;
  step_number base_;
  std::vector<step_number> applied_;              // by rank
  std::map<step_number, committed_step> waiting_; // after committed_
};

} // namespace ballast::ledger
