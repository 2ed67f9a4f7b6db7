/// The norm of a whole gradient arena, for clipping. The order of additions is
/// fixed, whatever the device, its number of processors and the alignment: CPU
/// (global_norm.cpp) and GPU (gpu/cuda/reduce.cu) get the same bits.
///
/// The order. The arena is cut into pieces of 16,384 elements. In a piece, lane
/// l of 1,024 adds up the squares of elements l, l + 1024, l + 2048, ...; four
/// neighbouring lanes are added as (a + b) + (c + d), and the 256 sums by a
/// tree: s[t] += s[t + 128], then 64, and so on. The sums of the pieces are
/// added the same way, without the fours: lane l of 1,024 takes pieces l, l +
/// 1024, ..., then a tree from 512 down. All in double, in which the square of
/// a float is exact.
#pragma once

#include "gpu/kernels/host_device.hpp"

#include <cmath>
#include <cstddef>

namespace ballast::gpu {

constexpr size_t norm_lanes = 1024;
constexpr size_t norm_piece = 16 * norm_lanes;

/// The number of pieces: at least one.
constexpr size_t norm_pieces(size_t count) {
  return count == 0 ? 1 : (count + norm_piece - 1) / norm_piece;
}

double sum_of_squares(const float* values, size_t count);

/// The result of clipping for a step's gradient sum: multiply by `scale`.
struct clipped {
  double norm;  // of the mean gradient, before clipping
  double scale; // 1 / samples, and less if the norm is above the limit
  /// What no element of the scaled gradient exceeds: an optimizer compares it
  /// with its largest_gradient. NaN if the gradient has one.
  double worst;
};

/// `clip_norm` 0: only compute the norm. A norm that is NaN is not clipped: the
/// loss is refused elsewhere.
BALLAST_HOST_DEVICE clipped clip_by_norm(double sum_of_squares,
                                         double inverse_samples,
                                         double clip_norm) {
  clipped out{sqrt(sum_of_squares) * inverse_samples, inverse_samples, 0};
  if (clip_norm > 0 && out.norm > clip_norm)
    out.scale *= clip_norm / out.norm;
  out.worst = out.norm * (out.scale / inverse_samples);
  return out;
}

} // namespace ballast::gpu
