/// The common base of the LibTorch models: parameters and gradients as tensors
/// over the executor's arenas, the job's initial values, and errors of the
/// project's type instead of LibTorch's.
///
/// A model has one or two implementations. On the CPU in float32 it uses the
/// one that is fastest there, written out by hand if that helps. Elsewhere, or
/// in bfloat16, it uses LibTorch's own operations with autograd (`outputs`),
/// and the host reads no value but the loss.
///
/// Thread: the step thread. Tensors over an arena do not own it; the executor
/// keeps the arenas alive as long as they are bound.
#pragma once

#include "gpu/model.hpp"
#include "gpu/torch/arena_tensors.hpp"
#include "gpu/torch/autograd_leaves.hpp"
#include "gpu/torch/batch_norm.hpp"
#include "gpu/torch/objective.hpp"
#include "gpu/torch/placement.hpp"
#include "gpu/torch/recorded_steps.hpp"
#include "gpu/torch/tensor_objective.hpp"

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ballast::gpu {

/// What a model is made for, and how it computes.
struct model_setting {
  job what;
  ledger::row_shape row;
  int threads = 1;
  model_place place;
  bool bfloat16 = false;
  /// True if the model computes by `outputs`.
  bool by_outputs() const { return place.elsewhere || bfloat16; }
};

/// What a model's kind is known to do.
struct model_traits {
  /// `differentiate` uses autograd.
  bool leaves = true;
  /// `pass` enqueues the same work for every step of as many rows.
  bool repeats = false;
  /// `differentiate` asks whether the arenas' gradients are overwritten.
  bool overwrites = false;
};

class torch_model : public model {
public:
  const std::vector<parameter_info>& parameters() const final {
    return arenas_.infos();
  }
  void initialize(std::span<float> parameters) final;
  void bind(std::span<float> parameters, std::span<float> gradients) final;
  double accumulate(const batch_view& batch, uint64_t step_seed,
                    const std::function<void(size_t)>& ready) final;
  double overwrite(std::span<float> bound, const batch_view& batch,
                   uint64_t step_seed,
                   const std::function<void(size_t)>& ready) final;
  /// In slices, so that memory does not grow with the batch.
  evaluation_sums evaluate(const batch_view& batch) final;
  /// Likewise.
  void answer(const batch_view& batch, std::span<float> out) final;
  void interrupt() noexcept final { interrupted_ = true; }
  void resume() noexcept final { interrupted_ = false; }
  size_t statistics_count() const final { return norms_.statistics_count(); }
  void take_statistics(std::span<float> out) final { norms_.take(out); }
  void apply_statistics(std::span<const float> sums, double rows) final {
    norms_.apply(sums, rows);
  }
  std::vector<buffer> buffers() override { return norms_.buffers(); }

protected:
  torch_model(const model_request& request,
              const std::vector<std::pair<std::string, std::vector<int64_t>>>&
                  parameters,
              model_traits traits);

  // The parts that a model overrides. All run without autograd unless they
  // enable it.
  virtual void default_values(std::span<float> parameters) = 0;
  /// A file has filled them.
  virtual void constants_changed() {}
  virtual double differentiate(const batch_view& batch, uint64_t step_seed,
                               const std::function<void(size_t)>& ready) = 0;
  /// rows x columns by LibTorch's own operations on the leaves, on any device;
  /// differentiable by autograd. For models whose outputs the objective judges;
  /// the others override its callers.
  virtual at::Tensor outputs(const batch_view& /*batch*/, bool /*training*/,
                             uint64_t /*step_seed*/) {
    return {};
  }
  /// Loss and gradients by LibTorch's own operations: the loss sum, a scalar
  /// where the model computes. Reads no device memory.
  virtual at::Tensor pass(const batch_view& batch, uint64_t step_seed,
                          const std::function<void(size_t)>& ready);
  /// Refuses rows that `pass` cannot take. Called before it, on the host.
  virtual void check_rows(const batch_view& batch) const {
    goal_.check_labels(batch);
  }
  /// rows x columns, on the current parameters; valid until the next call.
  /// For models whose outputs the objective judges; the others override
  /// `judge`.
  virtual std::span<const float> predict(const batch_view&) { return {}; }
  virtual evaluation_sums judge(const batch_view& batch) {
    return goal_.evaluate(batch, predict(batch));
  }
  virtual evaluation_sums judge_outputs(const batch_view& batch);
  /// Rows that an evaluation processes at once.
  virtual uint32_t evaluation_rows() const { return 512; }

  /// Called between two parts of a forward pass: throws if `accumulate` was
  /// interrupted. In the backward pass every `ready` does that.
  void check_interrupt() const;

  const model_setting& setting() const { return setting_; }
  const objective& goal() const { return goal_; }
  const arena_tensors& arenas() const { return arenas_; }
  /// The parameters, with gradients; created by the first `bind`.
  autograd_leaves& leaves() { return leaves_; }
  /// Empty, unless the model adds some.
  batch_norms& norms() { return norms_; }

  /// The loss of each row of `outputs`, differentiable by autograd, in place of
  /// the goal's; for models whose `differentiate` is `pass`.
  using losses_by_row = std::function<at::Tensor(const at::Tensor& outputs,
                                                 const wanted_outputs& wanted)>;
  losses_by_row own_losses;

private:
  model_setting setting_;
  model_traits traits_;
  objective goal_;
  std::atomic<bool> interrupted_{false};
  bool accumulates_ = false;
  batch_norms norms_;
  arena_tensors arenas_;
  autograd_leaves leaves_;
  recorded_steps recorded_;
};

/// Fills like torch.nn does for a Linear or a Conv2d with `fan_in` inputs for
/// each output, with the numbers that torch.manual_seed(seed) would give.
class default_filler {
public:
  explicit default_filler(uint64_t seed);
  void weight(std::span<float> values, int64_t fan_in);
  void bias(std::span<float> values, int64_t fan_in);
  void normal(std::span<float> values, double deviation);

private:
  void uniform(std::span<float> values, double bound);
  at::Generator generator_;
};

// The models; each refuses with ballast_error{invalid_job}.
std::unique_ptr<model> make_dense_model(const model_request& request);
std::unique_ptr<model> make_cnn_model(const model_request& request);
std::unique_ptr<model> make_resnet_model(const model_request& request);
std::unique_ptr<model> make_script_model(const model_request& request);
std::unique_ptr<model> make_transformer_model(const model_request& request);

} // namespace ballast::gpu
