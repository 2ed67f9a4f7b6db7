/// The CUDA support of this machine as plain values, and the sentences about it
/// that `ballast doctor` and a refused `--device` print. libballast_cuda.so
/// fills a report (gpu/cuda/entry_points.hpp), gpu/cuda_library.hpp requests
/// it; nothing here needs CUDA.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::gpu {

/// The first obstacle on the way to a usable GPU, in this order.
enum class cuda_state : uint8_t {
  not_built,       // compiled with BALLAST_CUDA=off, or without nvcc and NCCL
  library_missing, // libballast_cuda.so is not in its place
  library_broken,  // it cannot be loaded
  no_driver,       // libcuda.so.1 cannot be loaded
  driver_too_old,  // older than the CUDA runtime inside libballast_cuda.so
  no_device,       // a driver, but no GPU visible to this process
  failed,          // the driver refused for another reason
  usable,
};

struct cuda_device {
  int index = 0; // as in "cuda:0"
  std::string name;
  int major = 0; // compute capability
  int minor = 0;
  uint64_t memory_bytes = 0;
  /// Reserved (nvidia-smi --compute-mode prohibited).
  bool prohibited = false;
};

struct cuda_report {
  cuda_state state = cuda_state::not_built;
  std::string detail = {}; // the paths searched, or the driver's message
  int runtime_version = 0; // 13000: CUDA 13.0, compiled in
  int driver_version = 0;  // the newest CUDA that the driver supports; 0: none
  std::vector<cuda_device> devices = {};
};

/// NCCL is opened at run time: a single worker on a GPU does not need it.
struct nccl_report {
  int compiled_version = 0; // 22809: 2.28.9; 0: not in this build
  int running_version = 0;  // 0: not found
  std::string file;         // the loaded file
  std::string why_not;
};

/// Kernels are compiled for this compute capability and later.
constexpr int compute_capability_min = 80;

/// "13.0" of 13000.
std::string cuda_version_text(int version);
/// "2.28.9" of 22809.
std::string nccl_version_text(int version);

/// One line; empty if there is a usable device.
std::string why_no_gpu(const cuda_report& report);
/// The remedy; empty if there is none.
std::string how_to_get_gpu(const cuda_report& report);
/// device_failed with one line, if `index` cannot be used here.
failure why_not_device(const cuda_report& report, int index);

/// One line about an NCCL that is absent, too old or not the compiled version;
/// empty if it is usable. All nodes need the same version.
std::string nccl_trouble(const nccl_report& report);

/// The N of "cuda:N"; nothing for any other text.
std::optional<int> cuda_index(const std::string& device);

} // namespace ballast::gpu
