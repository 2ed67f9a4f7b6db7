/// The update rule over flat arenas: one pass over parameters, gradients and
/// state, all in the memory of one device. Same result as torch.optim for the
/// same gradients (tests compare).
#pragma once

#include "collectives/zeroed_memory.hpp"
#include "runtime/job/job.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::gpu {

/// lr of `step` (from 1) under the schedule; `total_steps` of the whole run.
double learning_rate(const optimizer_spec& optimizer,
                     const schedule_spec& schedule, uint64_t step,
                     uint64_t total_steps);

class optimizer {
public:
  virtual ~optimizer() = default;
  /// parameters -= update(gradients * gradient_scale). `gradient_scale`
  /// includes the division by the sample count and the clipping in the same
  /// pass. `step` counts from 1 (Adam's bias correction).
  virtual void apply(std::span<float> parameters,
                     std::span<const float> gradients, double gradient_scale,
                     double lr, uint64_t step) = 0;
  /// The same for a gradient sum over samples, whose mean is clipped to
  /// `clip_norm` (null: no clipping) over all parameters. Returns false and
  /// changes nothing if a gradient is not finite, or so large that the rule's
  /// own state would overflow (Adam squares it). The answer depends on the
  /// arguments alone.
  virtual bool apply_clipped(std::span<float> parameters,
                             std::span<const float> gradients,
                             double inverse_samples,
                             std::optional<double> clip_norm, double lr,
                             uint64_t step) = 0;
  /// State vectors by name ("exp_avg", ...), each as long as the arena.
  struct state_vector {
    std::string name;
    std::span<float> values;
  };
  virtual std::vector<state_vector> state() = 0;
};

/// The largest mean gradient that the rule can process.
double largest_gradient(const optimizer_spec& spec);

/// Gives so many zeros.
using allocate_floats = std::function<std::shared_ptr<float[]>(size_t floats)>;
/// The rule on this host's memory; its state lies where `allocate` says.
std::unique_ptr<optimizer>
make_optimizer(const optimizer_spec& spec, size_t parameter_count,
               const allocate_floats& allocate = collectives::zeroed_floats);

} // namespace ballast::gpu
