/// The reduction whose sums have one order: leaf by leaf, each computed by one
/// thread from its own rows alone, and added up along one tree (leaf_tree.hpp).
/// Gradients, loss and statistics of a step have the same bits for every number
/// of workers, and whatever leaves each of them takes.
///
/// Where a step is checked (ledger::spot_checks), some leaves are computed by
/// two ranks, whose digests of them travel with the losses: all ranks know
/// before they apply the step whether these agree. Where not, both try again,
/// and a third rank, too.
///
/// Several leaves are computed side by side, each by a model of its own over
/// the same parameters. A micro-batch that does not fit is an error: a smaller
/// one would give other bits.
///
/// Of a step that is abandoned the sums that are complete outlive this object,
/// and the next one computes the rest, if it has the same step to do.
#pragma once

#include "gpu/bucket_layout.hpp"
#include "gpu/reduction/leaf_slots.hpp"
#include "gpu/reduction/leaf_team.hpp"
#include "gpu/reduction/reduction.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/leaf_tree.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/metrics/tally.hpp"

#include <atomic>
#include <span>
#include <vector>

namespace ballast::gpu {

class canonical final : public reduction {
public:
  /// `models`: alike, each of one thread, the worker's own first; as many
  /// leaves are computed side by side. `abandoned`: of the same memory; what is
  /// in the parameters is what it was computed from. `flips`: an injected
  /// fault, so many leaves get a wrong bit. All outlive this.
  canonical(const train_spec& how, const ledger::row_shape& row,
            std::vector<model*> models, const arenas& memory,
            const leaf_memory& leaves, abandoned_step& abandoned,
            std::atomic<uint64_t>& flips);

  double contribute(const step_work& of) override;
  void compute_ahead(const step_work& of) override;
  void stop_ahead() noexcept override { ahead_stopped_ = true; }
  void finish(worker::trailer& sums, std::span<float> statistics) override;
  void applied(ledger::position of, double samples) override;
  void drop() noexcept override;
  uint64_t rows_kept() const override { return rows_kept_; }
  void score(const batch_view& rows, float* gradients,
             std::span<float> scores) override;
  evaluation_sums evaluate(const batch_view& rows, float* gradients) override;
  void interrupt() noexcept override;
  void resume() noexcept override;

private:
  void begin(const step_work& of);
  void prepare(const step_work& of);
  void take_over(const abandoned_step& last);
  uint64_t rows_of(uint32_t leaf) const;
  /// Null: all of them.
  void compute_leaves(const std::atomic<bool>* stopped);
  void compute(const leaf_slots::place& at, model& with);
  void check(model& with);
  double gradient_of(uint32_t leaf, const batch_view& rows, float* gradients,
                     float* statistics, model& with,
                     const leaf_slots::place* at);
  uint64_t compute_again(uint32_t leaf, const batch_view& rows, model& with);
  uint64_t digest_of(double loss, const float* gradients,
                     const float* statistics) const;
  void compare(std::span<const double> digests);
  void share_buffers();
  double sum_of_losses(std::span<const double> by_leaf) const;
  void gather(metrics::tally& to,
              const std::vector<metrics::ordered_part>& parts);

  const uint32_t leaves_;
  const std::optional<uint64_t> micro_batch_;
  const uint32_t features_; // of a row
  const std::vector<model*> models_;
  const arenas& memory_;
  const leaf_memory& room_;
  abandoned_step& abandoned_;
  leaf_slots slots_;
  leaf_team team_;
  std::atomic<uint64_t>& flips_;

  std::atomic<bool> ahead_stopped_{false};

  // The step in flight.
  bool in_flight_ = false;
  step_work work_;
  std::vector<uint64_t> first_rows_; // by leaf that is mine: in work_.rows
  uint64_t rows_kept_ = 0;
  bool lone_ = false; // its sum is where it belongs
  ledger::fixed_sum order_;
  std::vector<double> losses_; // by leaf; 0 where it is another rank's
  /// By check, of its owner and of its checker: as losses_.
  std::vector<double> digests_;
  std::atomic<bool> checked_{false};
  std::vector<float> again_; // gradients and statistics of what is checked
  std::vector<metrics::tally> tallies_; // by thread, of an evaluation
};

} // namespace ballast::gpu
