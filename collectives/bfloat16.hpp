/// bfloat16: the upper half of a float32. Sums are computed in float32 and
/// rounded to nearest, ties to even.
#pragma once

#include <bit>
#include <cstdint>

namespace ballast::collectives {

inline float from_bfloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline uint16_t to_bfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return static_cast<uint16_t>(bits >> 16 | 0x40u); // a quiet NaN stays one
  }
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

} // namespace ballast::collectives
