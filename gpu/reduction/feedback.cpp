#include "gpu/reduction/feedback.hpp"

#include "runtime/base/vectorized.hpp"

#include <bit>

namespace ballast::gpu {

BALLAST_VECTORIZED
void add_feedback(const float* gradients, const float* unsent, float factor,
                  float* to, size_t count) {
  for (size_t i = 0; i < count; ++i)
    to[i] = gradients[i] + unsent[i] * factor;
}

BALLAST_VECTORIZED
uint32_t digest_of_bits(const float* values, size_t count) {
  uint32_t out = 0;
  for (size_t i = 0; i < count; ++i)
    out += (std::bit_cast<uint32_t>(values[i]) ^ 0x9E3779B9U) *
           (2 * uint32_t(i) + 1);
  return out;
}

} // namespace ballast::gpu
