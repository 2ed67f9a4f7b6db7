/// Keeps infinities and NaN out of the model: explains gradients that must not
/// be applied, and checks parameters before they are copied for a checkpoint
/// and at the end. Thread: the step thread. What it looks at outlives it.
#pragma once

#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/training_state.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/job/job.hpp"

#include <string>

namespace ballast::gpu {

class finite_check {
public:
  finite_check(const train_spec& how, const model& of, compute_device& device,
               const arenas& memory)
      : how_(how), model_(of), device_(device), memory_(memory) {}

  /// Throws ballast_error{non_finite_gradient}, which names the parameter.
  [[noreturn]] void refuse_gradient(ledger::position at, const float* gradients,
                                    double samples) const;
  /// Name of the first parameter with a value that is not finite, or empty; by
  /// so many threads.
  std::string damaged_parameter(size_t threads = 1) const;
  /// Throws ballast_error{non_finite_parameter} if there is one.
  void check_parameters(step_number after, size_t threads = 1) const;

private:
  const train_spec& how_;
  const model& model_;
  compute_device& device_;
  const arenas& memory_;
};

} // namespace ballast::gpu
