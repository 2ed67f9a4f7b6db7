// The learning rate as a pure function of the step.
#include "gpu/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ballast::gpu {

// Warm-up rises linearly and reaches lr at step `warmup_steps`. The decay runs
// over the remaining steps: the first of them has lr, the last one of the run
// lr * final_ratio (cosine, linear). If warm-up leaves one step, that step has
// lr * final_ratio; a run of one step has lr.
double learning_rate(const optimizer_spec& optimizer,
                     const schedule_spec& schedule, uint64_t step,
                     uint64_t total_steps) {
  const uint64_t warmup = schedule.warmup_steps;
  if (step <= warmup)
    return optimizer.lr * double(step) / double(warmup);
  const uint64_t done = step - warmup - 1; // steps since the warm-up
  const double ratio = schedule.final_ratio;
  switch (schedule.kind) {
  case schedule_kind::constant:
    break;
  case schedule_kind::step: {
    if (schedule.every_steps == 0)
      return optimizer.lr;
    const uint64_t falls = done / schedule.every_steps;
    return optimizer.lr * std::pow(schedule.gamma, double(falls));
  }
  case schedule_kind::linear:
  case schedule_kind::cosine: {
    const uint64_t span =
        total_steps > warmup + 1 ? total_steps - warmup - 1 : 0;
    const double progress = span == 0
                                ? double(warmup > 0)
                                : std::min(1.0, double(done) / double(span));
    const double remaining =
        schedule.kind == schedule_kind::linear
            ? 1 - progress
            : (1 + std::cos(std::numbers::pi * progress)) / 2;
    return optimizer.lr * (ratio + (1 - ratio) * remaining);
  }
  }
  return optimizer.lr;
}

} // namespace ballast::gpu
