/// After which steps of a run the test part is evaluated: the job's
/// `evaluate.every`, or the end of each epoch, and always the last step. Pure
/// value; workers and coordinator have one each.
#pragma once

#include "runtime/base/ids.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace ballast {

class evaluation_schedule {
public:
  /// `every`: so many steps; none: each epoch.
  evaluation_schedule(std::optional<uint64_t> every, uint64_t steps_per_epoch,
                      uint64_t epochs)
      : every_(every.value_or(steps_per_epoch)),
        total_(steps_per_epoch * epochs) {}

  bool is_due(step_number after) const {
    const uint64_t step = value(after);
    return step > 0 && (step % every_ == 0 || step == total_);
  }
  /// The newest one that is due before `step`; 0: none.
  step_number newest_before(step_number step) const {
    if (value(step) > total_)
      return step_number{total_};
    return step_number{(std::max<uint64_t>(value(step), 1) - 1) / every_ *
                       every_};
  }

private:
  uint64_t every_;
  uint64_t total_; // steps of the job
};

} // namespace ballast
