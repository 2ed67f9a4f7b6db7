/// What of a worker's training outlives one generation, and how the next one
/// begins. Plain data; the engine owns it, the step thread changes it.
#pragma once

#include "collectives/collective.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/orders.hpp"
#include "runtime/messages/reports.hpp"
#include "runtime/worker/step_history.hpp"
#include "runtime/worker/trailer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

namespace ballast {

/// The flat buffers of one worker; they outlive generations.
struct arenas {
  std::shared_ptr<float[]> parameters;
  /// Take turns: the reduced gradients of the last applied step stay until the
  /// next one is applied.
  std::shared_ptr<float[]> gradients[2];
  size_t count = 0;
};

/// How a generation begins, beside the plan and the position in the core.
struct generation_start {
  /// Ranks without the state that the others hold; `source` sends it to them.
  std::vector<uint32_t> stale;
  /// Ranks one step behind; `source` sends them what that step reduced to.
  std::vector<uint32_t> late;
  uint32_t source = 0;
  /// Evaluate this epoch first: nobody reported its result. 0 = none.
  epoch_number evaluate{};
  bool paused = false; // stand still before the first step
};

/// The generation after this one, opened while training goes on.
struct next_generation {
  plan what;
  std::unique_ptr<collective> group;
  generation_start start;
};

/// What a frozen worker can vouch for.
struct held_state {
  bool holds = false; // false: its parameters are of no step
  step_number step{}; // last applied
};

/// What outlives generations beside the arenas and the optimizer's state.
struct training_state {
  held_state held;
  /// The gradients of the next step go to arena turn % 2; those of the last
  /// applied one lie in the other.
  uint64_t turn = 0;
  /// Reduced trailer and statistics of the last applied step.
  trailer last;
  std::vector<float> statistics;
  /// Applied steps, for whoever does not know of them yet: a newcomer, a
  /// coordinator that was restarted.
  step_history history;
  std::deque<evaluation_report> evaluations; // likewise

  /// What the fence does not know of; of the steps as many as go into one
  /// answer.
  void tell_after(const fence_order& known, final_ack& out) const;

  /// When the newest copy for a checkpoint was made here; 0: none yet.
  uint64_t copied_ns = 0;

  /// Compute takes so many times as long, on purpose.
  std::atomic<double> slow_factor = 1;
};

inline void training_state::tell_after(const fence_order& known,
                                       final_ack& out) const {
  out.records = history.after(known.known, records_told_max);
  out.more =
      !out.records.empty() && history.goes_beyond(out.records.back().step);
  if (!out.more)
    for (const evaluation_report& one : evaluations)
      if (one.epoch > known.evaluated)
        out.evaluations.push_back(one);
}

} // namespace ballast
