/// What goes into a bucket before it is reduced, on the CPU: the reference of
/// the kernels in gpu/cuda/elementwise.cu, with equal bits.
#pragma once

#include "runtime/worker/trailer.hpp"

#include <cstddef>

namespace ballast {

/// to[i] = from[i] * weight. In place where both are the same; else they do not
/// overlap. The weight is applied here and not by the reduction, so that
/// the reduction stays a plain sum, which every transport has.
void scale_copy(const float* from, float* to, size_t count, float weight);

/// to[0..16) = what this worker contributes: counts and raised lanes are known
/// to the host; the loss sum comes from where the gradient was computed, unless
/// `loss_sum` is null.
void write_trailer(trailer counts, const float* loss_sum, float* to);

} // namespace ballast
