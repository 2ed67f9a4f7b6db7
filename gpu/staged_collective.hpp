/// A host collective for tensors on a device: data in a device arena is copied
/// to host memory, reduced by the inner collective, and copied back. Host data
/// passes through unchanged.
///
/// It changes neither the data sent nor its order: workers on CPUs and on
/// devices can be ranks of one generation.
///
/// Thread: as any collective.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/device.hpp"

#include <memory>

namespace ballast::gpu {

/// Gradients keep their offsets in `mirror`, which is allocated by the inner
/// collective and as long as the longest arena: slower ranks may still read a
/// bucket while the next one is staged. `device` must outlive the collective.
std::unique_ptr<collectives::collective>
make_staged_collective(std::unique_ptr<collectives::collective> inner,
                       compute_device& device, std::shared_ptr<float[]> mirror,
                       size_t mirror_floats);

} // namespace ballast::gpu
