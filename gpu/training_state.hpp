/// The part of a worker's training that outlives one generation, and the start
/// of the next one. Plain data; the engine owns it, the step thread changes it.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/reduction/abandoned_step.hpp"
#include "gpu/reduction/residuals.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/judgement.hpp"
#include "runtime/messages/orders.hpp"
#include "runtime/messages/reports.hpp"
#include "runtime/worker/step_history.hpp"
#include "runtime/worker/trailer.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace ballast::gpu {

/// The flat buffers of one worker; they outlive generations.
struct arenas {
  std::shared_ptr<float[]> parameters;
  /// Alternate: the reduced gradients of the last applied step stay until the
  /// next one is applied.
  std::shared_ptr<float[]> gradients[2];
  size_t count = 0;
  /// keep.best: parameters and buffers after the best evaluation so far, on the
  /// host; null: nothing is kept.
  std::shared_ptr<float[]> best;
  std::shared_ptr<float[]> best_buffers;
  /// Of the step with this turn (training_state).
  float* gradients_of(uint64_t turn) const { return gradients[turn % 2].get(); }
};

/// The start of a generation, beside the plan and the position in the core.
struct generation_start {
  /// Ranks without the common state; all others have it, and send it to them.
  std::vector<uint32_t> stale;
  /// Ranks one step behind; `source` sends them the reduced gradients of that
  /// step.
  std::vector<uint32_t> late;
  /// It also says where the generation starts.
  uint32_t source = 0;
  /// Evaluate what is held first, because the result was not reported: the
  /// step before the first one. 0 = no.
  step_number evaluate{};
  bool paused = false; // pause before the first step
  /// Of the evaluations before; none: what is here counts, and newcomers are
  /// told it with the state.
  std::optional<judgement> judged = {};
};

/// The generation after this one, opened while training continues.
struct next_generation {
  ledger::plan what;
  std::unique_ptr<collectives::collective> group;
  generation_start start;
};

/// The state that a frozen worker can vouch for.
struct held_state {
  bool holds = false; // false: its parameters match no step
  step_number step{}; // last applied
  /// What that step exchanged is here as well: it was applied here.
  bool last_step = false;
};

/// The state that outlives generations beside the arenas and the optimizer's
/// state.
struct training_state {
  held_state held;
  /// The gradients of the next step go to arena turn % 2; those of the last
  /// applied one are in the other.
  uint64_t turn = 0;
  /// Reduced trailer and statistics of the last applied step.
  worker::trailer last;
  std::vector<float> statistics;
  /// Applied steps, for processes that do not know of them yet: a newcomer, a
  /// restarted coordinator.
  worker::step_history history;
  std::deque<evaluation_report> evaluations; // likewise
  /// Of these parameters; changed by the step thread.
  judgement judged;

  /// Adds what the fence does not know of; steps are limited to the size of one
  /// answer.
  void tell_after(const fence_order& known, final_ack& out) const;

  /// Of train.compression: what this worker has not sent yet.
  residuals unsent;

  /// Of the reduction canonical: of these parameters. Who replaces them by
  /// others forgets it.
  abandoned_step abandoned;

  /// Time of the newest copy for a checkpoint here; 0: none yet.
  uint64_t copied_ns = 0;

  /// Injected fault: compute takes this many times as long.
  std::atomic<double> slow_factor = 1;
  /// Likewise: a bit flips in the gradients of so many leaves from now on.
  std::atomic<uint64_t> flips = 0;
};

inline void training_state::tell_after(const fence_order& known,
                                       final_ack& out) const {
  out.records = history.after(known.known, records_told_max);
  out.more =
      !out.records.empty() && history.goes_beyond(out.records.back().step);
  if (!out.more)
    for (const evaluation_report& one : evaluations)
      if (one.step > known.evaluated)
        out.evaluations.push_back(one);
}

} // namespace ballast::gpu
