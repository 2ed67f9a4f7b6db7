#include "gpu/judged_state.hpp"

#include <algorithm>

namespace ballast::gpu {

void judged_state::keep(step_number here, const std::function<void()>& before) {
  const step_number best = state_.judged.keep.step;
  if (!memory_.best || best == step_number{} || best != here)
    return;
  if (before)
    before();
  const size_t count = memory_.count;
  if (device_.is_host())
    std::copy_n(memory_.parameters.get(), count, memory_.best.get());
  else
    device_.download(memory_.best.get(), memory_.parameters.get(), count);
  float* to = memory_.best_buffers.get();
  for (const model::buffer& one : model_.buffers())
    to = std::copy(one.values.begin(), one.values.end(), to);
}

std::span<const float> judged_state::kept() const {
  if (!memory_.best || state_.judged.keep.step == step_number{})
    return {};
  return {memory_.best.get(), memory_.count};
}

} // namespace ballast::gpu
