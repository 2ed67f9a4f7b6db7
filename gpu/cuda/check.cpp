#include "gpu/cuda/check.hpp"

#include "runtime/base/errors.hpp"

#include <string>

namespace ballast::gpu {

void check_cuda(cudaError_t code, const char* what) {
  if (code == cudaSuccess)
    return;
  cudaGetLastError(); // or the next launch would report it
  throw ballast_error(errc::device_failed,
                      std::string(what) +
                          " failed on the GPU: " + cudaGetErrorString(code) +
                          " (" + cudaGetErrorName(code) + ")");
}

cudaError_t allocate(void** out, size_t bytes,
                     const std::function<void()>& make_room) {
  const cudaError_t code = cudaMalloc(out, bytes);
  if (code != cudaErrorMemoryAllocation || !make_room)
    return code;
  cudaGetLastError(); // clears the error, which is not one of the device
  make_room();
  return cudaMalloc(out, bytes);
}

} // namespace ballast::gpu
