/// A compute_device on a GPU.
///
/// Streams. The model (LibTorch uses the current stream, which is the default
/// one), `clear` and the optimizer run in the device's default stream, in the
/// order in which the step thread enqueues them. Copies of `upload` and
/// `download` have a stream of their own, and so has the input; the host waits
/// for both before the call returns. The collective's stream (nccl_collective)
/// is a fourth: the host waits for the bucket's event before it calls the
/// collective, and the collective returns when the host has seen its end. None
/// of these streams waits implicitly for the default one
/// (cudaStreamNonBlocking), and the default one never carries NCCL's work:
/// waiting for it cannot hang on a dead peer.
///
/// Never run on a GPU yet: docs/gpu-results.md.
#pragma once

#include "gpu/device.hpp"

#include <memory>

namespace ballast::gpu {

/// Throws ballast_error{device_failed} if the device cannot run a kernel.
std::unique_ptr<compute_device> make_cuda_device(int index);

} // namespace ballast::gpu
