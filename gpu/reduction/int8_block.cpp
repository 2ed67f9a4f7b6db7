#include "gpu/reduction/int8_block.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ballast::gpu {

namespace {

/// Below it 127 / largest is not a number; such values are left for later.
constexpr float largest_min = 1e-35F;

/// 24 random bits (a permutation of 32-bit words by Wellons, "lowbias32").
inline uint32_t random_bits(uint32_t counter) {
  counter ^= counter >> 16;
  counter *= 0x7feb352dU;
  counter ^= counter >> 15;
  counter *= 0x846ca68bU;
  counter ^= counter >> 16;
  return counter >> 8;
}

BALLAST_VECTORIZED
int32_t largest_bits(const float* values, size_t count) {
  int32_t out = 0;
  for (size_t i = 0; i < count; ++i)
    out = std::max(out, std::bit_cast<int32_t>(values[i]) & 0x7fffffff);
  return out;
}

BALLAST_VECTORIZED
void round_all(const float* values, size_t count, float inverse, float scale,
               uint32_t first, uint32_t salt, int8_t* steps, float* left) {
  for (size_t i = 0; i < count; ++i) {
    const float exact = values[i] * inverse;
    int32_t step = int32_t(exact);
    step -= float(step) > exact ? 1 : 0;
    const float above = exact - float(step);
    const uint32_t bits = random_bits((first + uint32_t(i)) ^ salt);
    step += float(int32_t(bits)) * 0x1p-24F < above ? 1 : 0;
    step = std::min(std::max(step, -127), 127);
    steps[i] = int8_t(step);
    left[i] = values[i] - float(step) * scale;
  }
}

void encode_one(const float* values, size_t count, uint32_t first,
                uint32_t salt, int8_block& block, float* left) {
  const auto largest = std::bit_cast<float>(largest_bits(values, count));
  if (!std::isfinite(largest) || largest < largest_min) {
    block.scale =
        std::isfinite(largest) ? 0.0F : std::numeric_limits<float>::quiet_NaN();
    std::fill_n(block.steps, int8_block::values, int8_t{0});
    std::copy_n(values, count, left);
    return;
  }
  block.scale = largest / 127.0F;
  round_all(values, count, 127.0F / largest, block.scale, first, salt,
            block.steps, left);
  std::fill(block.steps + count, block.steps + int8_block::values, int8_t{0});
}

BALLAST_VECTORIZED
void decode_one(const int8_t* steps, float scale, float* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values[i] = float(steps[i]) * scale;
}

BALLAST_VECTORIZED
void add_one(const int8_t* steps, float scale, float* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values[i] += float(steps[i]) * scale;
}

template <class Each>
void for_each_block(size_t count, Each each) {
  for (size_t begin = 0; begin < count; begin += int8_block::values)
    each(begin / int8_block::values, begin,
         std::min(int8_block::values, count - begin));
}

} // namespace

void encode_int8(const float* values, size_t count, uint64_t key,
                 int8_block* blocks, float* left) {
  // Each of 2^32 keys permutes the counters in another way.
  const auto salt = uint32_t(key ^ key >> 32);
  for_each_block(count, [&](size_t b, size_t begin, size_t length) {
    encode_one(values + begin, length, uint32_t(begin), salt, blocks[b],
               left + begin);
  });
}

void decode_int8(const int8_block* blocks, float* values, size_t count) {
  for_each_block(count, [&](size_t b, size_t begin, size_t length) {
    decode_one(blocks[b].steps, blocks[b].scale, values + begin, length);
  });
}

void add_int8(const int8_block* blocks, float* values, size_t count) {
  for_each_block(count, [&](size_t b, size_t begin, size_t length) {
    add_one(blocks[b].steps, blocks[b].scale, values + begin, length);
  });
}

} // namespace ballast::gpu
