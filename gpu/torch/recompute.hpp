/// Activation checkpointing (Chen et al. 2016, arXiv:1604.06174): of a block
/// only its input is kept between the forward and the backward pass, which
/// computes the block once more. Costs one more forward pass and changes no
/// bit: the block gets the same input and the same random numbers.
///
/// Thread: the step thread, in both passes.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>

namespace ballast::gpu {

/// Computes one output from the parameters' leaves and this input. `again` is
/// set in the backward pass, when its side effects (statistics) have happened
/// already. It sets its compute types itself then (autocast_scope).
using block_function =
    std::function<at::Tensor(const at::Tensor& input, bool again)>;

/// `block(input, false)`. With autograd off that is all; otherwise `input` must
/// require gradients, and `block` is kept until the backward pass.
at::Tensor recomputed(const at::Tensor& input, block_function block);

} // namespace ballast::gpu
