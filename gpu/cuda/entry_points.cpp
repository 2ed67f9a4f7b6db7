/// The exported functions of libballast_cuda.so.
#include "gpu/cuda/entry_points.hpp"
#include "gpu/cuda/check.hpp"
#include "gpu/cuda/cuda_device.hpp"
#include "gpu/cuda/device_memory.hpp"
#include "gpu/cuda/kernels.hpp"
#include "gpu/cuda/nccl_collective.hpp"
#include "gpu/cuda/nccl_library.hpp"

#include <cstdlib>
#include <string>

namespace ballast::gpu {
namespace {

std::string reason_of(cudaError_t code) {
  return std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code);
}

cuda_state state_of(cudaError_t code, int driver_version) {
  switch (code) {
  case cudaSuccess:
    return cuda_state::usable;
  case cudaErrorInsufficientDriver: // also without any driver
    return driver_version == 0 ? cuda_state::no_driver
                               : cuda_state::driver_too_old;
  case cudaErrorNoDevice:
    return cuda_state::no_device;
  default:
    return cuda_state::failed;
  }
}

cuda_device describe_device(int index) {
  cuda_device out;
  out.index = index;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, index),
             "cudaGetDeviceProperties");
  out.name = properties.name;
  out.major = properties.major;
  out.minor = properties.minor;
  out.memory_bytes = properties.totalGlobalMem;
  int mode = cudaComputeModeDefault;
  check_cuda(cudaDeviceGetAttribute(&mode, cudaDevAttrComputeMode, index),
             "cudaDeviceGetAttribute");
  out.prohibited = mode == cudaComputeModeProhibited;
  return out;
}

void probe(cuda_report& out) {
  cudaRuntimeGetVersion(&out.runtime_version);
  cudaDriverGetVersion(&out.driver_version);
  if (out.driver_version == 0) {
    out.state = cuda_state::no_driver;
    return;
  }
  int count = 0;
  cudaError_t code = cudaGetDeviceCount(&count);
  out.state = state_of(code, out.driver_version);
  if (out.state == cuda_state::failed)
    out.detail = reason_of(code);
  if (out.state == cuda_state::no_device) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible)
      out.detail = "CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "'";
  }
  for (int i = 0; i < count && out.state == cuda_state::usable; ++i)
    out.devices.push_back(describe_device(i));
}

/// Multiplies four numbers by two.
void run_a_kernel(int index) {
  check_cuda(cudaSetDevice(index), "cudaSetDevice");
  const float numbers[4] = {1, 2, 3, 4};
  float doubled[4] = {};
  device_memory<float> memory(4);
  memory.upload(numbers, 4);
  launch_scale_copy(memory.data(), memory.data(), 4, 2, nullptr);
  memory.download(doubled, 4);
  for (int i = 0; i < 4; ++i)
    if (doubled[i] != 2 * numbers[i])
      throw ballast_error(errc::device_failed,
                          "a kernel computed something wrong");
}

} // namespace
} // namespace ballast::gpu

extern "C" {

__attribute__((visibility("default"))) void
ballast_cuda_probe(ballast::gpu::cuda_report* out) {
  try {
    ballast::gpu::probe(*out);
  } catch (const std::exception& e) {
    out->state = ballast::gpu::cuda_state::failed;
    out->detail = e.what();
  }
}

__attribute__((visibility("default"))) void
ballast_cuda_try_device(int index, ballast::failure* why) {
  try {
    ballast::gpu::run_a_kernel(index);
  } catch (const std::exception& e) {
    *why = {ballast::errc::device_failed,
            "cuda:" + std::to_string(index) + ": " + e.what(),
            {}};
  }
}

__attribute__((visibility("default"))) void
ballast_nccl_probe(ballast::gpu::nccl_report* out) {
  try {
    const ballast::gpu::nccl_library& nccl = ballast::gpu::loaded_nccl();
    out->compiled_version = nccl.compiled_version;
    out->running_version = nccl.running_version;
    out->file = nccl.file;
    out->why_not = nccl.why_not;
  } catch (const std::exception& e) {
    out->why_not = e.what();
  }
}

__attribute__((visibility("default"))) ballast::collectives::collective_backend*
ballast_make_nccl_backend(int device, ballast::failure* why) {
  try {
    return ballast::gpu::make_nccl_backend(device).release();
  } catch (const std::exception& e) {
    *why = {ballast::errc::device_failed, e.what(), {}};
    return nullptr;
  }
}

__attribute__((visibility("default"))) ballast::gpu::compute_device*
ballast_make_cuda_device(int index, ballast::failure* why) {
  try {
    ballast::gpu::run_a_kernel(index);
    return ballast::gpu::make_cuda_device(index).release();
  } catch (const std::exception& e) {
    *why = {ballast::errc::device_failed,
            "cuda:" + std::to_string(index) + ": " + e.what(),
            {}};
    return nullptr;
  }
}

} // extern "C"
