/// The step method in which all ranks apply the mean gradient over the rows of
/// all of them, in the same step (step_method.hpp): every rank holds the same
/// parameters and optimizer state.
#pragma once

#include "gpu/device.hpp"
#include "gpu/finite_check.hpp"
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "gpu/step_method.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"

#include <memory>
#include <vector>

namespace ballast::gpu {

class synchronous final : public step_method {
public:
  struct parts {
    const train_spec* how = nullptr;
    gpu::model* model = nullptr;
    gpu::optimizer* optimizer = nullptr;
    compute_device* device = nullptr;
    const arenas* memory = nullptr;
    training_state* state = nullptr;
  };
  /// All of `with` outlives this.
  synchronous(const parts& with, std::unique_ptr<reduction> sums);

  double contribute(const step_work& of) override;
  void compute_ahead(const step_work& of) override {
    reduction_->compute_ahead(of);
  }
  void stop_ahead() noexcept override { reduction_->stop_ahead(); }
  void exchange(worker::trailer& sums) override;
  void apply(ledger::position at, const worker::trailer& sums,
             uint64_t steps_total) override;
  void drop() noexcept override { reduction_->drop(); }
  uint64_t rows_kept() const override { return reduction_->rows_kept(); }
  worker::trailer
  repair(collectives::collective& group,
         std::span<const collectives::bytes_here> have) override;
  void score(const batch_view& rows, std::span<float> scores) override;
  evaluation_sums evaluate(const batch_view& rows) override;
  std::optional<uint32_t> take_shrunk() override {
    return reduction_->take_shrunk();
  }
  void interrupt() noexcept override { reduction_->interrupt(); }
  void resume() noexcept override { reduction_->resume(); }

private:
  float* gradients() const {
    return with_.memory->gradients_of(with_.state->turn);
  }

  const parts with_;
  const std::unique_ptr<reduction> reduction_;
  finite_check finite_;
  std::vector<float> statistics_; // of the step in flight
};

} // namespace ballast::gpu
