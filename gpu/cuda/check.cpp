#include "gpu/cuda/check.hpp"

#include "runtime/base/errors.hpp"

#include <string>

namespace ballast::gpu {

void check_cuda(cudaError_t code, const char* what) {
  if (code == cudaSuccess)
    return;
  throw ballast_error(errc::device_failed,
                      std::string(what) +
                          " failed on the GPU: " + cudaGetErrorString(code) +
                          " (" + cudaGetErrorName(code) + ")");
}

} // namespace ballast::gpu
