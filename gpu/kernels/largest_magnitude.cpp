#include "gpu/kernels/largest_magnitude.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace ballast::gpu {
namespace {

BALLAST_VECTORIZED
int32_t largest_bits(const float* values, size_t count) {
  int32_t out = 0;
  for (size_t i = 0; i < count; ++i)
    out = std::max(out, std::bit_cast<int32_t>(values[i]) & 0x7fffffff);
  return out;
}

} // namespace

float largest_magnitude(const float* values, size_t count) {
  return std::bit_cast<float>(largest_bits(values, count));
}

} // namespace ballast::gpu
