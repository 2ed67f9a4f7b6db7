#include "gpu/torch/tensor_objective.hpp"

#include "gpu/torch/placement.hpp"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/huber_loss.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/square.h>
#include <ATen/ops/zeros_like.h>
#include <algorithm>

namespace ballast::gpu {
namespace {

/// PyTorch's number of a label that counts nothing; check_labels refuses it.
constexpr int64_t no_label = -100;

at::Tensor target_numbers(const wanted_outputs& wanted) {
  return wanted.targets.defined() ? wanted.targets
                                  : wanted.labels.to(at::kFloat);
}

/// Undefined if all classes have equal weights.
at::Tensor weights_of(const objective& goal, const at::Tensor& like) {
  if (goal.class_weights().empty())
    return {};
  const std::vector<float>& weights = goal.class_weights();
  return tensor_at({}, weights.data(), {int64_t(weights.size())})
      .to(like.device());
}

/// Of class 1 and of class 0, each with its weight: what multiplies the
/// negative logarithm of its probability in the loss of a row.
struct two_parts {
  at::Tensor one, zero;
};

two_parts parts_of(const objective& goal, const at::Tensor& exact,
                   const wanted_outputs& wanted, double smoothing) {
  const at::Tensor label = wanted.labels.to(at::kFloat);
  two_parts out{label, label.neg().add(1)};
  if (smoothing > 0) {
    out.one = out.one.mul(1 - smoothing).add(smoothing / 2);
    out.zero = out.zero.mul(1 - smoothing).add(smoothing / 2);
  }
  if (const at::Tensor weights = weights_of(goal, exact); weights.defined()) {
    out.one = out.one.mul(weights.select(0, 1));
    out.zero = out.zero.mul(weights.select(0, 0));
  }
  return out;
}

at::Tensor sigmoid_losses(const objective& goal, const at::Tensor& exact,
                          const wanted_outputs& wanted, double smoothing) {
  if (smoothing == 0) {
    const at::Tensor weights = weights_of(goal, exact);
    return at::binary_cross_entropy_with_logits(
        exact.view(-1), wanted.labels.to(at::kFloat),
        weights.defined() ? weights.index_select(0, wanted.labels) : weights,
        {}, at::Reduction::None);
  }
  const two_parts parts = parts_of(goal, exact, wanted, smoothing);
  const at::Tensor sum = parts.one.add(parts.zero);
  return at::binary_cross_entropy_with_logits(
      exact.view(-1), parts.one.div(sum), sum, {}, at::Reduction::None);
}

/// 1 - (1 or -1) * the score: what hinge counts where it is above 0.
at::Tensor missing_margin(const at::Tensor& exact,
                          const wanted_outputs& wanted) {
  const at::Tensor sign = wanted.labels.mul(2).sub(1).to(at::kFloat);
  return exact.view(-1).mul(sign).neg().add(1);
}

at::Tensor hinge_losses(const objective& goal, const at::Tensor& exact,
                        const wanted_outputs& wanted) {
  const at::Tensor losses = missing_margin(exact, wanted).relu();
  const at::Tensor weights = weights_of(goal, exact);
  return weights.defined() ? losses.mul(weights.index_select(0, wanted.labels))
                           : losses;
}

/// Of the derivative of softmax; as cross_entropy_loss has it.
at::Tensor softmax_norms(const objective& goal, const at::Tensor& exact,
                         const wanted_outputs& wanted) {
  const at::Tensor labels = wanted.labels.unsqueeze(1);
  at::Tensor parts = at::zeros_like(exact).scatter(
      1, labels, at::full_like(labels, 1 - goal.smoothing(), at::kFloat));
  if (goal.smoothing() > 0)
    parts = parts.add(goal.smoothing() / double(exact.size(1)));
  if (const at::Tensor weights = weights_of(goal, exact); weights.defined())
    parts = parts.mul(weights);
  return exact.softmax(1)
      .mul(parts.sum(1, true))
      .sub(parts)
      .square()
      .sum(1)
      .sqrt();
}

/// Of the derivative of each row's loss by its outputs.
at::Tensor derivative_norms(const objective& goal, const at::Tensor& exact,
                            const wanted_outputs& wanted) {
  switch (goal.what()) {
  case objective::kind::squared:
    return exact.view(-1).sub(target_numbers(wanted)).abs().mul(2);
  case objective::kind::huber:
    return exact.view(-1)
        .sub(target_numbers(wanted))
        .abs()
        .clamp_max(goal.huber_delta());
  case objective::kind::sigmoid: {
    const two_parts parts = parts_of(goal, exact, wanted, goal.smoothing());
    const at::Tensor likely = exact.view(-1).sigmoid();
    return likely.mul(parts.one.add(parts.zero)).sub(parts.one).abs();
  }
  case objective::kind::hinge: {
    const at::Tensor counted =
        missing_margin(exact, wanted).gt(0).to(at::kFloat);
    const at::Tensor weights = weights_of(goal, exact);
    return weights.defined()
               ? counted.mul(weights.index_select(0, wanted.labels))
               : counted;
  }
  case objective::kind::softmax:
    break;
  }
  return softmax_norms(goal, exact, wanted);
}

} // namespace

wanted_outputs wanted_at(const model_place& place, const batch_view& batch) {
  const int64_t rows = batch.rows;
  const bool there = place.elsewhere;
  wanted_outputs out;
  if (batch.labels)
    out.labels =
        tensor_at(place, there ? batch.there.labels : batch.labels, {rows});
  if (batch.targets)
    out.targets =
        tensor_at(place, there ? batch.there.targets : batch.targets, {rows});
  return out;
}

at::Tensor losses_of(const objective& goal, const at::Tensor& outputs,
                     const wanted_outputs& wanted, bool training) {
  const at::Tensor exact = outputs.to(at::kFloat);
  const double smoothing = training ? goal.smoothing() : 0;
  switch (goal.what()) {
  case objective::kind::squared:
    return at::square(exact.view(-1).sub(target_numbers(wanted)));
  case objective::kind::huber:
    return at::huber_loss(exact.view(-1), target_numbers(wanted),
                          at::Reduction::None, goal.huber_delta());
  case objective::kind::sigmoid:
    return sigmoid_losses(goal, exact, wanted, smoothing);
  case objective::kind::hinge:
    return hinge_losses(goal, exact, wanted);
  case objective::kind::softmax:
    break;
  }
  return at::cross_entropy_loss(exact, wanted.labels, weights_of(goal, exact),
                                at::Reduction::None, no_label, smoothing);
}

void write_scores(const objective& goal, const at::Tensor& outputs,
                  const wanted_outputs& wanted, std::span<float> to) {
  const at::Tensor exact = outputs.detach().to(at::kFloat);
  if (goal.scores_loss())
    copy_to_host(losses_of(goal, exact, wanted, true).clamp_min(0), to.data());
  else
    copy_to_host(derivative_norms(goal, exact, wanted), to.data());
}

at::Tensor row_weights(const batch_view& batch, const at::Tensor& losses) {
  if (!batch.weights)
    return at::ones_like(losses);
  return tensor_at({}, batch.weights, {int64_t(batch.rows)})
      .to(losses.device());
}

void copy_to_host(const at::Tensor& from, float* to) {
  const at::Tensor here = from.to(at::kCPU, at::kFloat).contiguous();
  std::copy_n(here.const_data_ptr<float>(), here.numel(), to);
}

double correct_of(const objective& goal, const at::Tensor& outputs,
                  const wanted_outputs& wanted) {
  if (goal.is_of_numbers())
    return 0;
  const at::Tensor likeliest = goal.what() == objective::kind::softmax
                                   ? outputs.argmax(1)
                                   : outputs.view(-1).gt(0).to(at::kLong);
  return likeliest.eq(wanted.labels).sum().item().toDouble();
}

} // namespace ballast::gpu
