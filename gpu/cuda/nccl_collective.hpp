/// The backend "nccl": one communicator for each generation, all of one GPU
/// (gpu/cuda/nccl_device.hpp). Never run on a GPU yet: docs/gpu-results.md.
///
/// Buffers may lie on the device, which is what it is for, or on the host:
/// these go through pinned memory, for trailers and other small things. A fresh
/// communicator is made for every generation; shrinking the old one is not
/// used.
#pragma once

#include "collectives/collective.hpp"

#include <memory>

namespace ballast {

/// collective_error{unsupported} where NCCL or the device cannot be used.
std::unique_ptr<collective_backend> make_nccl_backend(int device);

} // namespace ballast
