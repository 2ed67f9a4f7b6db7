#include "data/neighbours/block_kernels.hpp"

#include "runtime/base/vectorized.hpp"

#include <cstring>
#include <type_traits>

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

/// Points of one block whose distance to a query is still open.
struct open_points {
  floats a = {}, b = {}, c = {}, d = {};

  [[gnu::always_inline]] void add(float at, const float* points) {
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
  [[gnu::always_inline]] bool any_within(float limit) const {
    const masks within =
        (a <= limit) | (b <= limit) | (c <= limit) | (d <= limit);
    const words some = (words)within;
    return (some[0] | some[1] | some[2] | some[3]) != 0;
  }
  [[gnu::always_inline]] bool any_within(const float* limits) const {
    floats x, y, z, w;
    BALLAST_LOAD(x, limits);
    BALLAST_LOAD(y, limits + lanes);
    BALLAST_LOAD(z, limits + 2 * lanes);
    BALLAST_LOAD(w, limits + 3 * lanes);
    const masks within = (a <= x) | (b <= y) | (c <= z) | (d <= w);
    const words some = (words)within;
    return (some[0] | some[1] | some[2] | some[3]) != 0;
  }
  [[gnu::always_inline]] void store(float* out) const {
    std::memcpy(out, &a, sizeof(a));
    std::memcpy(out + lanes, &b, sizeof(b));
    std::memcpy(out + 2 * lanes, &c, sizeof(c));
    std::memcpy(out + 3 * lanes, &d, sizeof(d));
  }
};

/// `limit_of(q)`: one limit for all points, or one for each of them.
template <class Limit>
[[gnu::always_inline]] inline uint32_t
search(const block_pair& what, const Limit& limit_of, const int32_t* asked,
       float* squared, uint32_t* found) {
  uint32_t any = 0;
  for (size_t q = 0; q < block_width; ++q) {
    found[q] = 0;
    if (asked[q] == 0)
      continue;
    const auto limit = limit_of(q);
    open_points open;
    bool near = true;
    for (size_t t = 0; near && t < what.dimensions;) {
      const size_t end = t + coordinates_between_looks < what.dimensions
                             ? t + coordinates_between_looks
                             : what.dimensions;
      for (; t < end; ++t)
        open.add(what.queries[t * block_width + q],
                 what.points + t * block_width);
      near = open.any_within(limit);
    }
    if (!near)
      continue;
    float* out = squared + q * block_width;
    open.store(out);
    for (size_t i = 0; i < block_width; ++i)
      if constexpr (std::is_pointer_v<decltype(limit)>)
        found[q] |= uint32_t(out[i] <= limit[i]) << i;
      else
        found[q] |= uint32_t(out[i] <= limit) << i;
    any |= uint32_t(1) << q;
  }
  return any;
}

} // namespace

BALLAST_VECTORIZED_FMA
uint32_t points_within(const block_pair& what, float* squared,
                       uint32_t* found) {
  int32_t asked[block_width];
  if (!box_is_within(what, asked))
    return 0;
  const float* limits = what.limits;
  return search(
      what, [limits](size_t q) { return limits[q]; }, asked, squared, found);
}

BALLAST_VECTORIZED_FMA
uint32_t points_nearer(const block_pair& what, const float* point_limits,
                       float* squared, uint32_t* found) {
  int32_t asked[block_width];
  for (size_t q = 0; q < block_width; ++q)
    asked[q] = what.limits[q] < 0 ? 0 : 1;
  return search(
      what, [point_limits](size_t) { return point_limits; }, asked, squared,
      found);
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
