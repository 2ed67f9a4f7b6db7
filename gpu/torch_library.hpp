/// LibTorch as a library that is opened when it is needed (gpu/torch/), without
/// what is built with it (gpu/model.hpp). Any thread.
#pragma once

#include "runtime/base/errors.hpp"

namespace ballast::gpu {

/// Loads LibTorch ahead of make_model, on the calling thread. Optional; saves
/// 0.2 s of start-up when it runs in parallel.
void preload_torch();

/// Loads LibTorch's CUDA part, which models on a GPU need. not_in_build with
/// one line if this LibTorch has none.
failure torch_on_cuda();

/// What LibTorch keeps of the GPUs' memory for its next tensors goes back to
/// them. Any thread.
void release_torch_memory();

} // namespace ballast::gpu
