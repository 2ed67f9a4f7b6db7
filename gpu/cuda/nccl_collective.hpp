/// The backend "nccl": one communicator for each generation, all of one GPU
/// (gpu/cuda/nccl_device.hpp). Never run on a GPU yet: docs/gpu-results.md.
///
/// Buffers are normally on the device; host buffers pass through pinned memory,
/// for trailers and other small data. Every generation creates a new
/// communicator; shrinking the old one is not used.
#pragma once

#include "collectives/collective.hpp"

#include <memory>

namespace ballast::gpu {

/// collective_error{unsupported} if NCCL or the device cannot be used.
std::unique_ptr<collectives::collective_backend> make_nccl_backend(int device);

} // namespace ballast::gpu
