/// The only way in which CUDA calls are checked.
#pragma once

#include <cuda_runtime_api.h>

namespace ballast::gpu {

/// Throws ballast_error{device_failed} with the failed operation and CUDA's
/// reason.
void check_cuda(cudaError_t code, const char* what);

} // namespace ballast::gpu
