/// The only way in which CUDA calls are checked.
#pragma once

#include <cstddef>
#include <cuda_runtime_api.h>
#include <functional>

namespace ballast::gpu {

/// Throws ballast_error{device_failed} with the failed operation and CUDA's
/// reason.
void check_cuda(cudaError_t code, const char* what);

/// cudaMalloc on the current device. If that is full, `make_room` (if given) is
/// called and the allocation tried once more.
cudaError_t allocate(void** out, size_t bytes,
                     const std::function<void()>& make_room);

} // namespace ballast::gpu
