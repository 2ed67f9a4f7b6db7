/// The update rules on a GPU: one kernel a step, and one more pass over the
/// gradients where they are clipped. Same bits as gpu/optimizer.cpp.
#pragma once

#include "gpu/optimizer.hpp"

#include <memory>

namespace ballast {

class cuda_arenas;

/// Enqueues in the default stream of `device`, which is the current one of
/// whoever calls. Throws ballast_error{invalid_job} for an unknown kind.
std::unique_ptr<optimizer> make_cuda_optimizer(const optimizer_spec& spec,
                                               size_t count, int device,
                                               cuda_arenas& arenas);

} // namespace ballast
