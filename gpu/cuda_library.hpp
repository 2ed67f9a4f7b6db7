/// Opens libballast_cuda.so on demand and queries it. Works in builds and on
/// machines without CUDA, and then reports why there is none.
///
/// Any thread; the object is opened once and stays.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/cuda_report.hpp"
#include "gpu/device.hpp"

#include <memory>

namespace ballast::gpu {

cuda_report probe_cuda();
nccl_report probe_nccl();
/// device_failed if a kernel cannot run on cuda:`index`, whose probe was fine:
/// in use by another program, out of memory, faulty.
failure try_cuda_device(int index);
/// The backend "nccl" of one GPU; collective_error{unsupported} with the reason
/// if it is unavailable.
std::unique_ptr<collectives::collective_backend> open_nccl_backend(int device);

/// Creates a context on cuda:`index`; ballast_error{device_failed} with one
/// line if that fails.
std::unique_ptr<compute_device> open_cuda_device(int index);

} // namespace ballast::gpu
