/// Activation checkpointing (Chen et al. 2016, arXiv:1604.06174): of a block
/// only its input is kept between the way there and the way back, which
/// computes the block once more when it comes to it. Costs one more forward
/// pass and changes no bit: the block is given the same input and the same
/// random numbers.
///
/// Thread: the step thread, on both ways.
#pragma once

#include <ATen/core/Tensor.h>
#include <functional>

namespace ballast {

/// One output, of the parameters' leaves and this input; `again` on the way
/// back, when whatever it changes beside its output (statistics) is changed
/// already. It sets the types it computes in by itself then (autocast_scope).
using block_function =
    std::function<at::Tensor(const at::Tensor& input, bool again)>;

/// `block(input, false)`. Where autograd is off that is all; else `input` must
/// require gradients, and `block` is kept until the way back.
at::Tensor recomputed(const at::Tensor& input, block_function block);

} // namespace ballast
