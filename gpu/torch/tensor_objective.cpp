#include "gpu/torch/tensor_objective.hpp"

#include "gpu/torch/placement.hpp"

#include <ATen/core/Reduction.h>
#include <ATen/ops/binary_cross_entropy_with_logits.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/square.h>
#include <algorithm>

namespace ballast::gpu {
namespace {

/// Undefined if all classes have equal weights.
at::Tensor weights_of(const objective& goal, const at::Tensor& like) {
  if (goal.class_weights().empty())
    return {};
  const std::vector<float>& weights = goal.class_weights();
  return tensor_at({}, weights.data(), {int64_t(weights.size())})
      .to(like.device());
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
                     const wanted_outputs& wanted) {
  const at::Tensor exact = outputs.to(at::kFloat);
  switch (goal.what()) {
  case objective::kind::squared:
    return at::square(exact.view(-1).sub(wanted.targets.defined()
                                             ? wanted.targets
                                             : wanted.labels.to(at::kFloat)));
  case objective::kind::sigmoid: {
    const at::Tensor weights = weights_of(goal, exact);
    return at::binary_cross_entropy_with_logits(
        exact.view(-1), wanted.labels.to(at::kFloat),
        weights.defined() ? weights.index_select(0, wanted.labels) : weights,
        {}, at::Reduction::None);
  }
  case objective::kind::softmax:
    break;
  }
  return at::cross_entropy_loss(exact, wanted.labels, weights_of(goal, exact),
                                at::Reduction::None);
}

void write_scores(const objective& goal, const at::Tensor& outputs,
                  const wanted_outputs& wanted, std::span<float> to) {
  const at::Tensor losses = losses_of(goal, outputs.detach(), wanted).detach();
  if (goal.scores_loss()) {
    copy_to_host(losses.clamp_min(0), to.data());
    return;
  }
  const at::Tensor exact = outputs.detach().to(at::kFloat);
  at::Tensor norms;
  if (goal.what() == objective::kind::squared) {
    norms = losses.sqrt().mul(2);
  } else if (goal.what() == objective::kind::sigmoid) {
    norms = exact.view(-1).sigmoid().sub(wanted.labels.to(at::kFloat)).abs();
  } else {
    const at::Tensor labels = wanted.labels.unsqueeze(1);
    const at::Tensor derivative = exact.softmax(1).scatter_add(
        1, labels, at::full_like(labels, -1, at::kFloat));
    norms = derivative.square().sum(1).sqrt();
  }
  if (const at::Tensor weights = weights_of(goal, exact); weights.defined())
    norms = norms.mul(weights.index_select(0, wanted.labels));
  copy_to_host(norms, to.data());
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
  if (goal.what() == objective::kind::squared)
    return 0;
  const at::Tensor likeliest = goal.what() == objective::kind::sigmoid
                                   ? outputs.view(-1).gt(0).to(at::kLong)
                                   : outputs.argmax(1);
  return likeliest.eq(wanted.labels).sum().item().toDouble();
}

} // namespace ballast::gpu
