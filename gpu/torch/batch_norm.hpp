/// Batch normalisation over (rows, height, width) of each channel. Training
/// normalises with the statistics of this micro-batch alone; the running
/// statistics do not change until the step is applied: their update is pending.
/// Running statistics are on the host; pending ones are on the device of the
/// batches, and are fetched once a step.
#pragma once

#include "gpu/model.hpp"

#include <ATen/core/Tensor.h>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace ballast::gpu {

class batch_norm {
public:
  /// `elsewhere`: inputs are on a device.
  explicit batch_norm(int64_t channels, bool elsewhere = false);

  /// Keeps the inputs of `backward` (if autograd does not), and the batch's
  /// statistics as pending.
  at::Tensor forward(const at::Tensor& input, const at::Tensor& weight,
                     const at::Tensor& bias);
  /// The same if autograd keeps its inputs, and nothing is kept here. `again`:
  /// the batch's statistics are pending already.
  at::Tensor normalise(const at::Tensor& input, const at::Tensor& weight,
                       const at::Tensor& bias, bool again);
  struct gradients {
    at::Tensor by_input;
    at::Tensor by_weight;
    at::Tensor by_bias;
  };
  gradients backward(const at::Tensor& by_output, const at::Tensor& weight);
  /// With the running statistics; changes nothing.
  at::Tensor predict(const at::Tensor& input, const at::Tensor& weight,
                     const at::Tensor& bias) const;

  /// Running mean, then running variance (unbiased), one for each channel; the
  /// same layout as in `take` and `apply`.
  size_t statistics_count() const { return running_.size(); }
  std::span<float> running_mean();
  std::span<float> running_variance();
  /// Adds the pending sums (statistic x rows) to `out` and forgets them.
  void take(std::span<float> out);
  bool is_elsewhere() const { return elsewhere_; }
  /// What is pending of one batch on a device: mean and 1 / sqrt(variance +
  /// eps) of each channel, over `values` values.
  struct seen_batch {
    at::Tensor mean;
    at::Tensor inverse_deviation;
    double rows;
    double values;
  };
  bool any_seen() const { return !seen_.empty(); }
  void put_seen(const std::vector<seen_batch>& seen) { seen_ = seen; }
  /// Forgets them. None if they are on the host.
  std::vector<seen_batch> take_seen() { return std::exchange(seen_, {}); }
  /// running = (1 - m) running + m sums / rows, m = 0.1 as in torch.nn.
  void apply(std::span<const float> sums, double rows);
  /// `name`.running_mean and `name`.running_var.
  void add_buffers(const std::string& name, std::vector<model::buffer>& out);

private:
  struct normalised {
    at::Tensor output;
    at::Tensor mean;
    at::Tensor inverse_deviation;
  };
  normalised here(const at::Tensor& input, const at::Tensor& weight,
                  const at::Tensor& bias, bool again);
  at::Tensor there(const at::Tensor& input, const at::Tensor& weight,
                   const at::Tensor& bias, bool again);

  int64_t channels_;
  bool elsewhere_;
  std::vector<float> running_;
  std::vector<float> pending_;
  std::vector<seen_batch> seen_; // pending, of tensors elsewhere
  at::Tensor input_;
  at::Tensor mean_;
  at::Tensor inverse_deviation_;
};

/// All batch norms of a model, with their names: their statistics and buffers
/// one after another.
class batch_norms {
public:
  void add(std::string name, int64_t channels, bool elsewhere);
  bool empty() const { return norms_.empty(); }
  batch_norm& operator[](size_t i) { return norms_[i]; }

  size_t statistics_count() const;
  void take(std::span<float> out);
  void apply(std::span<const float> sums, double rows);
  std::vector<model::buffer> buffers();

  /// What is pending on a device, by norm.
  using seen_batches = std::vector<std::vector<batch_norm::seen_batch>>;
  bool any_seen() const;
  seen_batches take_seen();
  void put_seen(const seen_batches& seen);

private:
  void take_from_device(std::span<float> out);

  std::vector<batch_norm> norms_;
  std::vector<std::string> names_;
};

} // namespace ballast::gpu
