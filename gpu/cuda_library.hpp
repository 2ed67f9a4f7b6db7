/// Opens libballast_cuda.so where it is needed and asks it. Works, and says why
/// not, in builds and on machines without CUDA.
///
/// Any thread; the object is opened once and stays.
#pragma once

#include "gpu/cuda_report.hpp"

namespace ballast {

cuda_report probe_cuda();
nccl_report probe_nccl();
/// device_failed if a kernel cannot run on cuda:`index`, whose probe was fine:
/// in use by another program, out of memory, ill.
failure try_cuda_device(int index);

} // namespace ballast
