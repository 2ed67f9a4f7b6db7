/// What a model is trained for (objective.hpp) in LibTorch's own operations,
/// for outputs that lie on a device or were computed in bfloat16. The same
/// losses, in float32, summed in double.
#pragma once

#include "gpu/torch/objective.hpp"

#include <ATen/core/Tensor.h>

namespace ballast {

/// Labels or targets of a batch where the model computes; undefined where the
/// batch has none.
struct wanted_outputs {
  at::Tensor labels;  // rows, int64
  at::Tensor targets; // rows, float32
};
wanted_outputs wanted_at(const model_place& place, const batch_view& batch);

/// The loss of each row; autograd follows it.
at::Tensor losses_of(const objective& goal, const at::Tensor& outputs,
                     const wanted_outputs& wanted);
/// How many rows' likeliest class is their label; 0 for numbers.
double correct_of(const objective& goal, const at::Tensor& outputs,
                  const wanted_outputs& wanted);

} // namespace ballast
