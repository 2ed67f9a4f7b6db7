/// The one way in which a CUDA call is checked.
#pragma once

#include <cuda_runtime_api.h>

namespace ballast {

/// Throws ballast_error{device_failed} with what failed, and CUDA's reason.
void check_cuda(cudaError_t code, const char* what);

} // namespace ballast
