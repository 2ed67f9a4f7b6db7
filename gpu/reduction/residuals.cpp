#include "gpu/reduction/residuals.hpp"

#include "collectives/zeroed_memory.hpp"

namespace ballast::gpu {

void residuals::keep(size_t count) {
  if (kept())
    return;
  for (auto& one : values_)
    one = collectives::zeroed_floats(count);
  count_ = count;
}

void residuals::begin(step_number step) {
  of_ = step;
  whole_ = false;
}

void residuals::applied(step_number step, double samples) {
  if (!whole_ || of_ != step)
    return;
  now_ = 1 - now_;
  samples_ = none_ ? 0 : samples;
  of_.reset();
  whole_ = false;
}

float residuals::factor(double samples) const {
  return samples_ > 0 ? float(samples / samples_) : 0.0F;
}

} // namespace ballast::gpu
