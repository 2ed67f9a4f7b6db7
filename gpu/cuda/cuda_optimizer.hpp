/// The update rules on a GPU: one kernel for each step, and one more pass over
/// the gradients if they are clipped. Same bits as gpu/optimizer.cpp.
#pragma once

#include "gpu/optimizer.hpp"

#include <functional>
#include <memory>

namespace ballast::gpu {

/// A zeroed arena of so many floats on the device.
using arena_maker = std::function<std::shared_ptr<float[]>(size_t floats)>;

/// Enqueues in the default stream of `device`, which must be the caller's
/// current one. Throws ballast_error{invalid_job} for an unknown kind.
std::unique_ptr<optimizer> make_cuda_optimizer(const optimizer_spec& spec,
                                               size_t count, int device,
                                               const arena_maker& make_arena);

} // namespace ballast::gpu
