#include "gpu/reduction/largest_values.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <bit>

namespace ballast::gpu {

namespace {

constexpr size_t sampled = 8192;
/// Candidates beyond what is wanted, so that chance rarely leaves too few.
constexpr double more = 1.3;
constexpr size_t block = 64;

int32_t magnitude(float value) {
  return std::bit_cast<int32_t>(value) & 0x7fffffff;
}

BALLAST_VECTORIZED
bool any_from(const float* values, size_t count, int32_t threshold) {
  int32_t largest = 0;
  for (size_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<int32_t>(values[i]) & 0x7fffffff);
  return largest >= threshold;
}

/// 0: take all.
int32_t likely_threshold(const float* values, size_t count, size_t wanted) {
  if (count < 4 * sampled)
    return 0;
  std::vector<int32_t> some(sampled);
  // Neighbours are alike: one from each of as many stretches, at places that
  // share no period with the rows of a matrix.
  const double stretch = double(count) / double(sampled);
  uint32_t place = 1;
  for (size_t i = 0; i < sampled; ++i) {
    place = place * 1664525U + 1013904223U;
    const double within = double(place) / 4294967296.0;
    const auto at = size_t((double(i) + within) * stretch);
    some[i] = magnitude(values[std::min(at, count - 1)]);
  }
  const auto above = size_t(more * double(wanted) / stretch) + 8;
  if (above >= sampled)
    return 0;
  std::nth_element(some.begin(), some.begin() + ptrdiff_t(above), some.end(),
                   std::greater<>());
  return some[above];
}

void collect(const float* values, size_t count, int32_t threshold,
             std::vector<uint32_t>& out) {
  out.clear();
  for (size_t begin = 0; begin < count; begin += block) {
    const size_t end = std::min(begin + block, count);
    if (!any_from(values + begin, end - begin, threshold))
      continue;
    for (size_t i = begin; i < end; ++i)
      if (magnitude(values[i]) >= threshold)
        out.push_back(uint32_t(i));
  }
}

} // namespace

void largest_values(const float* values, size_t count, size_t wanted,
                    std::vector<uint32_t>& out) {
  collect(values, count, likely_threshold(values, count, wanted), out);
  if (out.size() < wanted)
    collect(values, count, 0, out);
  auto larger = [values](uint32_t a, uint32_t b) {
    const int32_t x = magnitude(values[a]);
    const int32_t y = magnitude(values[b]);
    return x != y ? x > y : a < b;
  };
  if (out.size() > wanted) {
    std::nth_element(out.begin(), out.begin() + ptrdiff_t(wanted), out.end(),
                     larger);
    out.resize(wanted);
  }
  std::sort(out.begin(), out.end());
}

} // namespace ballast::gpu
