/// What of a worker's training outlives one generation, and how the next one
/// begins. Plain data; the engine owns it, the step thread changes it.
#pragma once

#include "gpu/collective.hpp"
#include "runtime/ids.hpp"
#include "runtime/plan.hpp"
#include "runtime/reports.hpp"
#include "runtime/trailer.hpp"

#include <algorithm>
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

/// Of a list in this order, what comes behind `known`.
template <class What, class Number>
std::vector<What> later(const std::deque<What>& list, Number What::*number,
                        Number known) {
  auto first = std::find_if(list.begin(), list.end(), [&](const What& one) {
    return one.*number > known;
  });
  return {first, list.end()};
}

/// What outlives generations beside the arenas and the optimizer's state.
struct training_state {
  held_state held;
  /// The gradients of the next step go to arena turn % 2; those of the last
  /// applied one lie in the other.
  uint64_t turn = 0;
  /// Reduced trailer and statistics of the last applied step.
  trailer last;
  std::vector<float> statistics;
  /// The newest applied steps, for whoever does not know of them yet: a
  /// newcomer, a coordinator that was restarted.
  std::deque<step_record> history;
  std::deque<evaluation_report> evaluations; // likewise

  std::vector<step_record> records_after(step_number known) const {
    return later(history, &step_record::step, known);
  }
  std::vector<evaluation_report> evaluations_after(epoch_number known) const {
    return later(evaluations, &evaluation_report::epoch, known);
  }

  /// Compute takes so many times as long, on purpose.
  std::atomic<double> slow_factor = 1;
};

} // namespace ballast
