#include "data/neighbours/block_kernels.hpp"

#include "runtime/base/vectorized.hpp"

#include <cstring>

namespace ballast::data {

namespace {

using floats = float __attribute__((vector_size(8 * sizeof(float))));
using masks = int32_t __attribute__((vector_size(8 * sizeof(int32_t))));
using words = uint64_t __attribute__((vector_size(4 * sizeof(uint64_t))));

constexpr size_t lanes = 8;
constexpr size_t vectors = block_width / lanes;
/// So many coordinates are added between two looks at the limit: the first ones
/// hold most of the spread, and most points are beyond the limit by them.
constexpr size_t coordinates_between_looks = 6;
constexpr size_t coordinates_between_boxes = 10;

} // namespace

#define BALLAST_LOAD(vector, from)                                             \
  std::memcpy(&(vector), (from), sizeof(vector))

namespace {

/// Of each query whether the box of the points is within its limit, all at
/// once. False: it is of none, and `asked` is not complete.
BALLAST_VECTORIZED_FMA
bool box_is_within(const block_pair& what, int32_t* asked) {
  const floats zero = {};
  floats sums[vectors] = {};
  for (size_t t = 0; t < what.dimensions;) {
    const size_t end = t + coordinates_between_boxes < what.dimensions
                           ? t + coordinates_between_boxes
                           : what.dimensions;
    for (; t < end; ++t) {
      const float low = what.low[t * group_width];
      const float high = what.high[t * group_width];
      for (size_t v = 0; v < vectors; ++v) {
        floats at;
        BALLAST_LOAD(at, what.queries + t * block_width + v * lanes);
        const floats below = low - at;
        const floats above = at - high;
        floats apart = below > above ? below : above;
        apart = apart > zero ? apart : zero;
        sums[v] += apart * apart;
      }
    }
    masks some = {};
    for (size_t v = 0; v < vectors; ++v) {
      floats limit;
      BALLAST_LOAD(limit, what.limits + v * lanes);
      const masks within = sums[v] <= limit;
      std::memcpy(asked + v * lanes, &within, sizeof(within));
      some |= within;
    }
    const words left = (words)some;
    if ((left[0] | left[1] | left[2] | left[3]) == 0)
      return false;
  }
  return true;
}

} // namespace

BALLAST_VECTORIZED_FMA
uint32_t points_within(const block_pair& what, float* squared,
                       uint32_t* found) {
  const floats zero = {};
  int32_t asked[block_width];
  if (!box_is_within(what, asked))
    return 0;
  uint32_t any = 0;
  for (size_t q = 0; q < block_width; ++q) {
    found[q] = 0;
    if (asked[q] == 0)
      continue;
    const float limit = what.limits[q];
    floats a = zero, b = zero, c = zero, d = zero;
    bool near = true;
    for (size_t t = 0; near && t < what.dimensions;) {
      const size_t end = t + coordinates_between_looks < what.dimensions
                             ? t + coordinates_between_looks
                             : what.dimensions;
      for (; t < end; ++t) {
        const float at = what.queries[t * block_width + q];
        const float* points = what.points + t * block_width;
        floats x, y, z, w;
        BALLAST_LOAD(x, points);
        BALLAST_LOAD(y, points + lanes);
        BALLAST_LOAD(z, points + 2 * lanes);
        BALLAST_LOAD(w, points + 3 * lanes);
        x -= at;
        y -= at;
        z -= at;
        w -= at;
        a += x * x;
        b += y * y;
        c += z * z;
        d += w * w;
      }
      const masks within =
          (a <= limit) | (b <= limit) | (c <= limit) | (d <= limit);
      const words some = (words)within;
      near = (some[0] | some[1] | some[2] | some[3]) != 0;
    }
    if (!near)
      continue;
    float* out = squared + q * block_width;
    std::memcpy(out, &a, sizeof(a));
    std::memcpy(out + lanes, &b, sizeof(b));
    std::memcpy(out + 2 * lanes, &c, sizeof(c));
    std::memcpy(out + 3 * lanes, &d, sizeof(d));
    for (size_t i = 0; i < block_width; ++i)
      found[q] |= uint32_t(out[i] <= limit) << i;
    any |= uint32_t(1) << q;
  }
  return any;
}

BALLAST_VECTORIZED_FMA
void box_distances(const float* low, const float* high, const float* group_low,
                   const float* group_high, size_t dimensions, float* squared) {
  const floats zero = {};
  floats sum = zero;
  for (size_t t = 0; t < dimensions; ++t) {
    floats from, to;
    BALLAST_LOAD(from, group_low + t * group_width);
    BALLAST_LOAD(to, group_high + t * group_width);
    const floats below = from - high[t];
    const floats above = low[t] - to;
    floats apart = below > above ? below : above;
    apart = apart > zero ? apart : zero;
    sum += apart * apart;
  }
  std::memcpy(squared, &sum, sizeof(sum));
}

BALLAST_VECTORIZED_FMA
void box_reaches(const float* low, const float* high, const float* group_low,
                 const float* group_high, size_t dimensions, float* squared) {
  floats sum = {};
  for (size_t t = 0; t < dimensions; ++t) {
    floats from, to;
    BALLAST_LOAD(from, group_low + t * group_width);
    BALLAST_LOAD(to, group_high + t * group_width);
    const floats up = to - low[t];
    const floats down = high[t] - from;
    const floats reach = up > down ? up : down;
    sum += reach * reach;
  }
  std::memcpy(squared, &sum, sizeof(sum));
}

#undef BALLAST_LOAD

} // namespace ballast::data
