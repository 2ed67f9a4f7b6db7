/// Fills buckets before they are reduced, on the CPU: the reference of the
/// kernels in gpu/cuda/elementwise.cu, with equal bits.
#pragma once

#include "runtime/worker/trailer.hpp"

#include <cstddef>

namespace ballast::gpu {

/// to[i] = from[i] * weight. In place if both are the same; otherwise they must
/// not overlap. The weight is applied here and not by the reduction, so that
/// the reduction stays a plain sum, which every transport supports.
void scale_copy(const float* from, float* to, size_t count, float weight);

/// to[0..16) = this worker's contribution. The host knows counts and raised
/// lanes; the loss sum comes from the device that computed the gradient, unless
/// `loss_sum` is null.
void write_trailer(worker::trailer counts, const float* loss_sum, float* to);

} // namespace ballast::gpu
