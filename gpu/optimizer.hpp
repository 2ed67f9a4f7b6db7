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
#include <utility>
#include <vector>

namespace ballast::gpu {

/// lr of `step` (from 1) under the schedule; `total_steps` of the whole run.
double learning_rate(const optimizer_spec& optimizer,
                     const schedule_spec& schedule, uint64_t step,
                     uint64_t total_steps);

/// Values of the arena that one update treats alike.
struct update_range {
  size_t first = 0; // element
  size_t count = 0;
  double lr_factor = 1; // of the step's learning rate
};

/// What an update changes, and how; ranges ascending, and together all of the
/// arena. None at all: everything, with the factor 1.
struct update_groups {
  std::vector<update_range> changed;
  std::vector<update_range> still; // stays as it is, with its state
  /// Updates that its state comes from, before the first step of this run.
  uint64_t steps_before = 0;
};

class optimizer {
public:
  virtual ~optimizer() = default;
  /// From here on. Before the first update.
  void arrange(update_groups how) { groups_ = std::move(how); }
  const update_groups& groups() const { return groups_; }
  /// parameters -= update(gradients * gradient_scale). `gradient_scale`
  /// includes the division by the sample count and the clipping in the same
  /// pass. `step` counts from 1 (Adam's bias correction), behind those before
  /// the run.
  virtual void apply(std::span<float> parameters,
                     std::span<const float> gradients, double gradient_scale,
                     double lr, uint64_t step) = 0;
  /// The same for a gradient sum over samples, whose mean is clipped to
  /// `clip_norm` (null: no clipping) over all parameters; gradients of what
  /// stays as it is are to be 0. Returns false and
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

protected:
  /// Calls use(range) for what changes, of an arena of so many elements.
  template <class Use>
  void for_each_range(size_t count, const Use& use) const {
    if (groups_.changed.empty() && groups_.still.empty())
      use(update_range{0, count, 1});
    for (const update_range& one : groups_.changed)
      use(one);
  }
  uint64_t counted(uint64_t step) const { return groups_.steps_before + step; }

private:
  update_groups groups_;
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
