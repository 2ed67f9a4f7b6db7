#include "gpu/kernels/global_norm.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <vector>

namespace ballast::gpu {
namespace {

/// lanes[0] = the sum of all, pairwise with halving distance.
double tree_sum(double* lanes, size_t count) {
  for (size_t distance = count / 2; distance > 0; distance /= 2)
    for (size_t t = 0; t < distance; ++t)
      lanes[t] += lanes[t + distance];
  return lanes[0];
}

BALLAST_VECTORIZED
double sum_of_piece(const float* values, size_t count) {
  double lanes[norm_lanes] = {};
  size_t row = 0;
  for (; row + norm_lanes <= count; row += norm_lanes)
    for (size_t l = 0; l < norm_lanes; ++l)
      lanes[l] += double(values[row + l]) * double(values[row + l]);
  for (size_t l = 0; row + l < count; ++l)
    lanes[l] += double(values[row + l]) * double(values[row + l]);
  double fours[norm_lanes / 4];
  for (size_t t = 0; t < norm_lanes / 4; ++t)
    fours[t] = (lanes[4 * t] + lanes[4 * t + 1]) +
               (lanes[4 * t + 2] + lanes[4 * t + 3]);
  return tree_sum(fours, norm_lanes / 4);
}

} // namespace

double sum_of_squares(const float* values, size_t count) {
  double lanes[norm_lanes] = {};
  for (size_t piece = 0; piece < norm_pieces(count); ++piece) {
    const size_t begin = piece * norm_piece;
    lanes[piece % norm_lanes] +=
        sum_of_piece(values + begin, std::min(norm_piece, count - begin));
  }
  return tree_sum(lanes, norm_lanes);
}

} // namespace ballast::gpu
