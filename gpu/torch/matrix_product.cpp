#include "gpu/torch/matrix_product.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include <immintrin.h>
#define BALLAST_AVX512 __attribute__((target("avx512f")))
#endif

namespace ballast::gpu {

#if defined(__x86_64__)
namespace {

// A tile of c is 8 rows of two 16-float registers: 16 independent sums hide the
// latency of the multiply-add, and each loaded b is used for 8 of them.
constexpr size_t tile_rows = 8;
constexpr size_t lanes = 16;
constexpr size_t tile_columns = 2 * lanes;
constexpr size_t inner_block = 512; // rows of b that stay in the L2 cache

/// Element (row, k) of a is at row * row_step + k * inner_step.
struct left_matrix {
  const float* values;
  size_t row_step;
  size_t inner_step;
};

struct columns_mask {
  __mmask16 low;
  __mmask16 high;
};

/// c's tile = start + a b. `start` is c itself, or one line for all rows
/// (start_step 0), or null for zero.
template <size_t Rows>
BALLAST_AVX512 void tile(const left_matrix& a, const float* b, size_t b_step,
                         size_t inner, const float* start, size_t start_step,
                         float* c, size_t c_step, columns_mask mask) {
  __m512 low[Rows];
  __m512 high[Rows];
#pragma GCC unroll 8
  for (size_t r = 0; r < Rows; ++r) {
    low[r] = _mm512_setzero_ps();
    high[r] = _mm512_setzero_ps();
    if (start) {
      const float* from = start + r * start_step;
      low[r] = _mm512_maskz_loadu_ps(mask.low, from);
      high[r] = _mm512_maskz_loadu_ps(mask.high, from + lanes);
    }
  }
  const float* at = a.values;
  for (size_t k = 0; k < inner; ++k, b += b_step, at += a.inner_step) {
    const __m512 b_low = _mm512_maskz_loadu_ps(mask.low, b);
    const __m512 b_high = _mm512_maskz_loadu_ps(mask.high, b + lanes);
#pragma GCC unroll 8
    for (size_t r = 0; r < Rows; ++r) {
      const __m512 factor = _mm512_set1_ps(at[r * a.row_step]);
      low[r] = _mm512_fmadd_ps(factor, b_low, low[r]);
      high[r] = _mm512_fmadd_ps(factor, b_high, high[r]);
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < Rows; ++r) {
    _mm512_mask_storeu_ps(c + r * c_step, mask.low, low[r]);
    _mm512_mask_storeu_ps(c + r * c_step + lanes, mask.high, high[r]);
  }
}

using tile_function = void(const left_matrix&, const float*, size_t, size_t,
                           const float*, size_t, float*, size_t, columns_mask);
// By number of rows.
constexpr tile_function* tiles[tile_rows + 1] = {nullptr, tile<1>, tile<2>,
                                                 tile<3>, tile<4>, tile<5>,
                                                 tile<6>, tile<7>, tile<8>};

__mmask16 mask_of(size_t columns) {
  return __mmask16((1U << std::min(columns, lanes)) - 1);
}

/// c = start + a b, with any layout of a and b that left_matrix and b_step can
/// describe.
void multiply(const product_shape& s, const left_matrix& a, const float* b,
              size_t b_step, const float* start, size_t start_step, float* c) {
  for (size_t k = 0; k < s.inner; k += inner_block) {
    const size_t inner = std::min(inner_block, s.inner - k);
    if (k > 0) { // continues from the first block's sums
      start = c;
      start_step = s.columns;
    }
    for (size_t j = 0; j < s.columns; j += tile_columns) {
      const size_t columns = std::min(tile_columns, s.columns - j);
      const columns_mask mask{mask_of(columns),
                              mask_of(columns > lanes ? columns - lanes : 0)};
      for (size_t i = 0; i < s.rows; i += tile_rows) {
        const size_t rows = std::min(tile_rows, s.rows - i);
        const left_matrix part{a.values + i * a.row_step + k * a.inner_step,
                               a.row_step, a.inner_step};
        tiles[rows](part, b + k * b_step + j, b_step, inner,
                    start ? start + i * start_step + j : nullptr, start_step,
                    c + i * s.columns + j, s.columns, mask);
      }
    }
  }
}

/// `out` (columns x rows) = `in` (rows x columns) transposed, in blocks that
/// stay in the L1 cache.
void transpose(const float* in, size_t rows, size_t columns, float* out) {
  constexpr size_t block = 16;
  for (size_t i = 0; i < rows; i += block)
    for (size_t j = 0; j < columns; j += block)
      for (size_t y = j; y < std::min(j + block, columns); ++y)
        for (size_t x = i; x < std::min(i + block, rows); ++x)
          out[y * rows + x] = in[x * columns + y];
}

} // namespace

bool has_matrix_product() {
  return __builtin_cpu_supports("avx512f");
}

bool suits_matrix_product() {
  return has_matrix_product() && !__builtin_cpu_is("intel");
}

void product_with_weight(const product_shape& s, const float* a,
                         const float* weight, const float* bias, float* c,
                         std::vector<float>& scratch) {
  scratch.resize(s.inner * s.columns);
  transpose(weight, s.columns, s.inner, scratch.data());
  multiply(s, {a, s.inner, 1}, scratch.data(), s.columns, bias, 0, c);
}

void product(const product_shape& s, const float* a, const float* b, float* c) {
  multiply(s, {a, s.inner, 1}, b, s.columns, nullptr, 0, c);
}

void product_of_transposed(const product_shape& s, const float* a,
                           const float* b, float* c) {
  multiply(s, {a, 1, s.rows}, b, s.columns, nullptr, 0, c);
}

void add_product_of_transposed(const product_shape& s, const float* a,
                               const float* b, float* c) {
  multiply(s, {a, 1, s.rows}, b, s.columns, c, s.columns, c);
}

#else

bool has_matrix_product() {
  return false;
}
bool suits_matrix_product() {
  return false;
}
void product_with_weight(const product_shape&, const float*, const float*,
                         const float*, float*, std::vector<float>&) {}
void product(const product_shape&, const float*, const float*, float*) {}
void product_of_transposed(const product_shape&, const float*, const float*,
                           float*) {}
void add_product_of_transposed(const product_shape&, const float*, const float*,
                               float*) {}

#endif

} // namespace ballast::gpu
