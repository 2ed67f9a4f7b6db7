#include "gpu/torch/batch_norm.hpp"

#include "gpu/torch/placement.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
#include <algorithm>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

namespace ballast::gpu {
namespace {

constexpr double eps = 1e-5;
constexpr double momentum = 0.1;

/// Adds a batch's statistics to the pending sums. `from`: its means, then its
/// inverse deviations. Returns what follows them.
const float* add_seen(const batch_norm::seen_batch& s, const float* from,
                      std::span<float> out) {
  const size_t channels = out.size() / 2;
  const double unbiased = s.values / (s.values - 1);
  for (size_t c = 0; c < channels; ++c) {
    const double inverse = from[channels + c];
    const double variance = std::max(1 / (inverse * inverse) - eps, 0.0);
    out[c] += float(s.rows * double(from[c]));
    out[channels + c] += float(s.rows * variance * unbiased);
  }
  return from + 2 * channels;
}

} // namespace

batch_norm::batch_norm(int64_t channels, bool elsewhere)
    : channels_(channels), elsewhere_(elsewhere),
      running_(size_t(2 * channels)), pending_(size_t(2 * channels)) {
  std::ranges::fill(running_variance(), 1.0F);
}

at::Tensor batch_norm::forward(const at::Tensor& input,
                               const at::Tensor& weight,
                               const at::Tensor& bias) {
  if (elsewhere_)
    return there(input, weight, bias, false);
  normalised made = here(input, weight, bias, false);
  if (made.output.requires_grad())
    return made.output; // autograd keeps the tensors it needs
  input_ = input;
  mean_ = std::move(made.mean);
  inverse_deviation_ = std::move(made.inverse_deviation);
  return made.output;
}

at::Tensor batch_norm::normalise(const at::Tensor& input,
                                 const at::Tensor& weight,
                                 const at::Tensor& bias, bool again) {
  return elsewhere_ ? there(input, weight, bias, again)
                    : here(input, weight, bias, again).output;
}

batch_norm::normalised batch_norm::here(const at::Tensor& input,
                                        const at::Tensor& weight,
                                        const at::Tensor& bias, bool again) {
  // Scratch "running" statistics with momentum 1 become those of the batch.
  // There are always several values for each channel: models refuse images of
  // which a layer would see fewer than 2 x 2 pixels.
  std::vector<float> batch(running_.size());
  at::Tensor mean = tensor_over(batch.data(), {channels_});
  at::Tensor variance = tensor_over(batch.data() + channels_, {channels_});
  auto [output, saved_mean, saved_inverse] = at::native_batch_norm(
      input, weight, bias, mean, variance, true, 1.0, eps);
  const auto rows = float(input.size(0));
  for (size_t i = 0; i < batch.size() && !again; ++i)
    pending_[i] += rows * batch[i];
  return {output, saved_mean, saved_inverse};
}

// The same, without reading anything on the host.
at::Tensor batch_norm::there(const at::Tensor& input, const at::Tensor& weight,
                             const at::Tensor& bias, bool again) {
  auto [output, mean, inverse] =
      at::native_batch_norm(input, weight, bias, {}, {}, true, 1.0, eps);
  if (!again) {
    const std::int64_t each = input.numel() / channels_;
    seen_.push_back({mean, inverse, double(input.size(0)), double(each)});
  }
  return output;
}

batch_norm::gradients batch_norm::backward(const at::Tensor& by_output,
                                           const at::Tensor& weight) {
  auto [by_input, by_weight, by_bias] = at::native_batch_norm_backward(
      by_output, input_, weight, {}, {}, mean_, inverse_deviation_, true, eps,
      {true, true, true});
  input_.reset();
  return {by_input, by_weight, by_bias};
}

at::Tensor batch_norm::predict(const at::Tensor& input,
                               const at::Tensor& weight,
                               const at::Tensor& bias) const {
  at::Tensor running = tensor_over(running_.data(), {2, channels_});
  if (elsewhere_)
    running = running.to(weight.device());
  return std::get<0>(at::native_batch_norm(input, weight, bias, running[0],
                                           running[1], false, momentum, eps));
}

std::span<float> batch_norm::running_mean() {
  return std::span(running_).first(size_t(channels_));
}

std::span<float> batch_norm::running_variance() {
  return std::span(running_).last(size_t(channels_));
}

void batch_norm::take(std::span<float> out) {
  for (size_t i = 0; i < pending_.size(); ++i)
    out[i] += pending_[i];
  std::fill(pending_.begin(), pending_.end(), 0.0F);
}

void batch_norm::apply(std::span<const float> sums, double rows) {
  for (size_t i = 0; i < running_.size(); ++i)
    running_[i] = float((1 - momentum) * double(running_[i]) +
                        momentum * double(sums[i]) / rows);
}

void batch_norm::add_buffers(const std::string& name,
                             std::vector<model::buffer>& out) {
  out.push_back({name + ".running_mean", {channels_}, running_mean()});
  out.push_back({name + ".running_var", {channels_}, running_variance()});
}

void batch_norms::add(std::string name, int64_t channels, bool elsewhere) {
  norms_.emplace_back(channels, elsewhere);
  names_.push_back(std::move(name));
}

size_t batch_norms::statistics_count() const {
  size_t sum = 0;
  for (const batch_norm& norm : norms_)
    sum += norm.statistics_count();
  return sum;
}

bool batch_norms::any_seen() const {
  return std::ranges::any_of(norms_, &batch_norm::any_seen);
}

batch_norms::seen_batches batch_norms::take_seen() {
  seen_batches out;
  for (batch_norm& norm : norms_)
    out.push_back(norm.take_seen());
  return out;
}

void batch_norms::put_seen(const seen_batches& seen) {
  for (size_t i = 0; i < norms_.size(); ++i)
    norms_[i].put_seen(seen[i]);
}

/// All of them in one copy.
void batch_norms::take_from_device(std::span<float> out) {
  const c10::InferenceMode off(false);
  const c10::NoGradGuard no_grad;
  const seen_batches seen = take_seen();
  std::vector<at::Tensor> parts;
  for (const auto& of_norm : seen)
    for (const batch_norm::seen_batch& s : of_norm)
      parts.insert(parts.end(), {s.mean, s.inverse_deviation});
  if (parts.empty()) // there was no batch
    return;
  const at::Tensor all = at::cat(parts).to(at::kCPU);
  const float* from = all.const_data_ptr<float>();
  for (size_t i = 0; i < norms_.size(); ++i) {
    for (const batch_norm::seen_batch& s : seen[i])
      from = add_seen(s, from, out.first(norms_[i].statistics_count()));
    out = out.subspan(norms_[i].statistics_count());
  }
}

void batch_norms::take(std::span<float> out) {
  if (!empty() && norms_.front().is_elsewhere())
    return take_from_device(out);
  for (batch_norm& norm : norms_) {
    norm.take(out.first(norm.statistics_count()));
    out = out.subspan(norm.statistics_count());
  }
}

void batch_norms::apply(std::span<const float> sums, double rows) {
  for (batch_norm& norm : norms_) {
    norm.apply(sums.first(norm.statistics_count()), rows);
    sums = sums.subspan(norm.statistics_count());
  }
}

std::vector<model::buffer> batch_norms::buffers() {
  std::vector<model::buffer> out;
  for (size_t i = 0; i < norms_.size(); ++i)
    norms_[i].add_buffers(names_[i], out);
  return out;
}

} // namespace ballast::gpu
