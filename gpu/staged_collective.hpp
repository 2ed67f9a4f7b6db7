/// A collective of the host for tensors that live on a device: what lies in an
/// arena of the device is copied to the host's memory, goes through the inner
/// collective, and is copied back. What lies on the host goes straight through.
///
/// It changes neither what is sent nor in which order: workers on CPUs and on
/// devices can be ranks of one generation.
///
/// Thread: as any collective.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/device.hpp"

#include <memory>

namespace ballast {

/// Gradients keep their places in `mirror`, which lies in the memory that the
/// inner collective likes best and is as long as the longest arena: ranks that
/// are slower may still read a bucket while the next one is staged.
/// `device` outlives the collective.
std::unique_ptr<collective>
make_staged_collective(std::unique_ptr<collective> inner,
                       compute_device& device, std::shared_ptr<float[]> mirror,
                       size_t mirror_floats);

} // namespace ballast
