/// The objective (objective.hpp) in LibTorch's own operations, for outputs that
/// are on a device or were computed in bfloat16. The same losses, in float32,
/// summed in double.
#pragma once

#include "gpu/torch/objective.hpp"

#include <ATen/core/Tensor.h>
#include <span>

namespace ballast::gpu {

/// Labels or targets of a batch at the model's place; undefined if the batch
/// has none.
struct wanted_outputs {
  at::Tensor labels;  // rows, int64
  at::Tensor targets; // rows, float32
};
wanted_outputs wanted_at(const model_place& place, const batch_view& batch);

/// The loss of each row, in training with the label smoothing; differentiable
/// by autograd.
at::Tensor losses_of(const objective& goal, const at::Tensor& outputs,
                     const wanted_outputs& wanted, bool training);
/// The score of each row (batch_view), on the host.
void write_scores(const objective& goal, const at::Tensor& outputs,
                  const wanted_outputs& wanted, std::span<float> to);
/// Per row, as autograd's derivative of the losses: 1, or the batch's weight.
at::Tensor row_weights(const batch_view& batch, const at::Tensor& losses);
/// A tensor of floats on any device, one a row.
void copy_to_host(const at::Tensor& from, float* to);
/// The number of rows whose likeliest class is the label; 0 for regression.
double correct_of(const objective& goal, const at::Tensor& outputs,
                  const wanted_outputs& wanted);

} // namespace ballast::gpu
