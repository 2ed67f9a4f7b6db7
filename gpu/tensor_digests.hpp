/// Digests of the parameters, tensor by tensor: by which workers find out that
/// they do not have the same any more, and a replay where it differs. Plain
/// functions; the parameters stand still meanwhile.
#pragma once

#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/training_state.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::gpu {

/// XXH64 of each parameter, in the order of the model, by so many threads.
std::vector<uint64_t> tensor_digests(const model& of, compute_device& device,
                                     const arenas& memory, size_t threads);

} // namespace ballast::gpu
