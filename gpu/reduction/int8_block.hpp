/// 256 values as 8-bit integers and a scale: 260 bytes instead of 1024. Rounded
/// up or down at random, so that the mean is the value itself. The same bits on
/// every CPU. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::gpu {

struct int8_block {
  static constexpr size_t values = 256;

  float scale; // NaN if a value is not finite: then all decode to NaN
  int8_t steps[values];
};
static_assert(sizeof(int8_block) == 260);

/// ceil(count / int8_block::values) blocks; `left`: value - decoded. Which way
/// value i is rounded is a function of `key`, i and the value.
void encode_int8(const float* values, size_t count, uint64_t key,
                 int8_block* blocks, float* left);
/// `values`: decoded, or added to.
void decode_int8(const int8_block* blocks, float* values, size_t count);
void add_int8(const int8_block* blocks, float* values, size_t count);

} // namespace ballast::gpu
