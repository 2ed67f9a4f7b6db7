/// What evaluations decide on this rank: whether the run is over, and whose
/// parameters are kept. Equal on every rank, as the evaluations and the
/// parameters are. Belongs to the step executor, on its thread.
#pragma once

#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/messages/judge.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>

namespace ballast::gpu {

class judged_state {
public:
  /// All of these outlive it.
  judged_state(const job& what, model& of, compute_device& device,
               const arenas& memory, training_state& state)
      : judge_(what), model_(of), device_(device), memory_(memory),
        state_(state) {}

  void hear(const evaluation_report& found) {
    judge_.hear(state_.judged, found);
  }
  /// The parameters after the step `here`, if its evaluation is the best so
  /// far; also for who was not there when that was found. `before`: the kept
  /// ones are about to change.
  void keep(step_number here, const std::function<void()>& before);
  bool is_over() const { return !judge_.over(state_.judged).empty(); }
  /// What is kept, in the place of the parameters; empty: nothing.
  std::span<const float> kept() const;

private:
  const judge judge_;
  model& model_;
  compute_device& device_;
  const arenas& memory_;
  training_state& state_;
};

} // namespace ballast::gpu
