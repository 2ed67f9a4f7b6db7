/// The reduction of one pass over a worker's rows, whose buckets the backend
/// sums in the order that is fastest for it (reduction.hpp), as they are or
/// compressed.
#pragma once

#include "gpu/bucket_layout.hpp"
#include "gpu/device.hpp"
#include "gpu/reduction/compressed_sum.hpp"
#include "gpu/reduction/gradient_pass.hpp"
#include "gpu/reduction/reduction.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"

#include <optional>

namespace ballast::gpu {

class fused final : public reduction {
public:
  /// All outlive this.
  fused(const train_spec& how, const ledger::row_shape& row, model& of,
        compute_device& device, const arenas& memory, bucket_layout layout,
        residuals& unsent);

  double contribute(const step_work& of) override;
  void finish(worker::trailer& sums, std::span<float> statistics) override;
  void applied(ledger::position of, double samples) override;
  void drop() noexcept override { pass_.drop(); }
  void score(const batch_view& rows, float* gradients,
             std::span<float> scores) override {
    pass_.score(rows, gradients, scores);
  }
  evaluation_sums evaluate(const batch_view& rows, float* gradients) override;
  std::optional<uint32_t> take_shrunk() override { return pass_.take_shrunk(); }
  void interrupt() noexcept override { model_.interrupt(); }
  void resume() noexcept override { model_.resume(); }

private:
  bucket_sum* compress_if(const train_spec& how, const model& of,
                          compute_device& device, const bucket_layout& layout);

  model& model_;
  const arenas& memory_;
  residuals& unsent_;
  std::optional<compressed_sum> compressed_; // if the job compresses
  gradient_pass pass_;
  collectives::collective* group_ = nullptr; // of the step in flight
};

} // namespace ballast::gpu
