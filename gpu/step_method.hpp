/// How the workers of a generation make one update of the model out of the rows
/// of a step: what each contributes, how that is exchanged, and how it is
/// applied; and what a rank that missed a step is told of it. step_executor
/// drives it, and keeps threads, orders, rows, fences and evaluation.
///
/// Order of calls for every step: contribute, exchange, apply. What a step
/// contributed is in the parameters only after apply().
///
/// Threads: the step thread; interrupt() and resume() from any.
#pragma once

#include "gpu/model.hpp"
#include "gpu/reduction/reduction.hpp"
#include "gpu/training_state.hpp"
#include "runtime/worker/trailer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace ballast::gpu {

class step_method {
public:
  virtual ~step_method() = default;

  /// The sum of the losses of the rank's rows, whose part of the update is
  /// computed; some of it may be with the other ranks already.
  virtual double contribute(const step_work& of) = 0;
  /// As of reduction.
  virtual void compute_ahead(const step_work& of) = 0;
  virtual void stop_ahead() noexcept = 0;
  /// Returns when the parts of all ranks are here; `sums` become those of all.
  /// Throws collective_error, contradiction.
  virtual void exchange(worker::trailer& sums) = 0;
  /// Updates the parameters by what was exchanged, the same on every rank.
  /// Throws ballast_error{non_finite_loss, non_finite_gradient}: then nothing
  /// was changed.
  virtual void apply(ledger::position at, const worker::trailer& sums,
                     uint64_t steps_total) = 0;
  /// Abandons the step in flight; the caller has aborted the collective.
  virtual void drop() noexcept = 0;
  /// As of reduction.
  virtual uint64_t rows_kept() const = 0;

  /// All ranks of `group`: those that have nothing of what the step before
  /// exchanged receive it from who has; apply() is next for them. Returns its
  /// sums. `have`: by rank, equal on all.
  virtual worker::trailer
  repair(collectives::collective& group,
         std::span<const collectives::bytes_here> have) = 0;

  /// As of reduction.
  virtual void score(const batch_view& rows, std::span<float> scores) = 0;
  virtual evaluation_sums evaluate(const batch_view& rows) = 0;
  virtual std::optional<uint32_t> take_shrunk() = 0;
  virtual void interrupt() noexcept = 0;
  virtual void resume() noexcept = 0;
};

} // namespace ballast::gpu
