/// Opens libballast_cuda.so where it is needed and asks it. Works, and says why
/// not, in builds and on machines without CUDA.
///
/// Any thread; the object is opened once and stays.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/cuda_report.hpp"
#include "gpu/device.hpp"

#include <memory>

namespace ballast {

cuda_report probe_cuda();
nccl_report probe_nccl();
/// device_failed if a kernel cannot run on cuda:`index`, whose probe was fine:
/// in use by another program, out of memory, ill.
failure try_cuda_device(int index);
/// The backend "nccl" of one GPU; collective_error{unsupported} with the reason
/// where there is none.
std::unique_ptr<collective_backend> open_nccl_backend(int device);

/// Makes a context on cuda:`index`; ballast_error{device_failed} with one line
/// where that is not possible.
std::unique_ptr<compute_device> open_cuda_device(int index);

} // namespace ballast
