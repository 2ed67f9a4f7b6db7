/// The one door into libballast_cuda.so, as both sides see it. The object holds
/// the kernels and the CUDA runtime itself, so that it can be opened on
/// machines with and without a driver. Exceptions do not cross the door.
#pragma once

#include "gpu/cuda_report.hpp"

namespace ballast {

constexpr const char* cuda_library_name = "libballast_cuda.so";

/// Asks the driver; makes no context, changes nothing.
using cuda_probe = void(cuda_report* out);
constexpr const char* cuda_probe_name = "ballast_cuda_probe";

/// Makes a context on the device and runs a kernel there. Takes a second the
/// first time, and some device memory for the life of the process.
using cuda_try_device = void(int index, failure* why);
constexpr const char* cuda_try_device_name = "ballast_cuda_try_device";

/// Opens NCCL and asks for its version.
using nccl_probe = void(nccl_report* out);
constexpr const char* nccl_probe_name = "ballast_nccl_probe";

} // namespace ballast
