/// Gathers rows of a chunk into a dense batch of float32, on the CPU: the
/// reference of the kernel in gpu/cuda/elementwise.cu, with equal bits.
/// (data/loader/batch.hpp does the same from chunks in the store.)
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::gpu {

/// Rows x features values, stored one after another.
template <class Stored>
struct row_block {
  const Stored* values = nullptr;
  uint32_t rows = 0;
  uint32_t features = 0;
};

/// to[i * features + j] = float(from[index[i]][j]) * scale + offset, rounded
/// after the product and after the sum. An index outside of the block gives a
/// row of NaN, and with it a NaN loss, which is then refused.
void gather_rows(const row_block<uint8_t>& from, const uint32_t* index,
                 size_t count, float scale, float offset, float* to);
void gather_rows(const row_block<float>& from, const uint32_t* index,
                 size_t count, float scale, float offset, float* to);

} // namespace ballast::gpu
