/// The exported functions of libballast_cuda.so, as both sides see them. The
/// object holds the kernels and the CUDA runtime itself, so that it can be
/// opened on machines with and without a driver. Exceptions do not cross this
/// boundary.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/cuda_report.hpp"
#include "gpu/device.hpp"

namespace ballast::gpu {

constexpr const char* cuda_library_name = "libballast_cuda.so";

/// Queries the driver; creates no context, changes nothing.
using cuda_probe = void(cuda_report* out);
constexpr const char* cuda_probe_name = "ballast_cuda_probe";

/// Creates a context on the device and runs a kernel there. Takes a second the
/// first time, and some device memory for the life of the process.
using cuda_try_device = void(int index, failure* why);
constexpr const char* cuda_try_device_name = "ballast_cuda_try_device";

/// Opens NCCL and reads its version.
using nccl_probe = void(nccl_report* out);
constexpr const char* nccl_probe_name = "ballast_nccl_probe";

/// Null and `*why` set if NCCL or the device cannot be used. The caller owns
/// it. Its methods throw collective_error, which does cross the boundary (both
/// sides know its type by name).
using nccl_factory = collectives::collective_backend*(int device, failure* why);
constexpr const char* nccl_factory_name = "ballast_make_nccl_backend";

/// Null and `*why` set if the GPU cannot be used. The caller owns it. Its
/// methods throw ballast_error, which crosses the boundary, too.
using cuda_device_factory = compute_device*(int index, failure* why);
constexpr const char* cuda_device_factory_name = "ballast_make_cuda_device";

} // namespace ballast::gpu
