#include "gpu/reduction/matrix_factors.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::gpu {

namespace {

constexpr size_t lanes = 16;

BALLAST_VECTORIZED
float dot(const float* a, const float* b, size_t count) {
  float sums[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t l = 0; l < lanes; ++l)
      sums[l] += a[i + l] * b[i + l];
  float out = 0;
  for (; i < count; ++i)
    out += a[i] * b[i];
  for (float one : sums)
    out += one;
  return out;
}

/// y += a x
BALLAST_VECTORIZED
void add_times(float a, const float* x, float* y, size_t count) {
  for (size_t i = 0; i < count; ++i)
    y[i] += a * x[i];
}

double exact_dot(const float* a, const float* b, size_t count) {
  double out = 0;
  for (size_t i = 0; i < count; ++i)
    out += double(a[i]) * double(b[i]);
  return out;
}

} // namespace

void times_right(const matrix_part& of, const float* m, const float* q,
                 float* p) {
  for (size_t i = 0; i < of.rows; ++i)
    for (size_t k = 0; k < of.rank; ++k)
      p[k * of.rows + i] =
          dot(m + i * of.columns, q + k * of.columns, of.columns);
}

void times_left(const matrix_part& of, const float* m, const float* p,
                float* q) {
  std::fill_n(q, of.rank * of.columns, 0.0F);
  for (size_t i = 0; i < of.rows; ++i)
    for (size_t k = 0; k < of.rank; ++k)
      add_times(p[k * of.rows + i], m + i * of.columns, q + k * of.columns,
                of.columns);
}

void product(const matrix_part& of, const float* p, const float* q, float* m) {
  for (size_t i = 0; i < of.rows; ++i) {
    float* row = m + i * of.columns;
    std::fill_n(row, of.columns, 0.0F);
    for (size_t k = 0; k < of.rank; ++k)
      add_times(p[k * of.rows + i], q + k * of.columns, row, of.columns);
  }
}

void subtract_product(const matrix_part& of, const float* m, const float* p,
                      const float* q, float* left) {
  for (size_t i = 0; i < of.rows; ++i) {
    float* row = left + i * of.columns;
    std::copy_n(m + i * of.columns, of.columns, row);
    for (size_t k = 0; k < of.rank; ++k)
      add_times(-p[k * of.rows + i], q + k * of.columns, row, of.columns);
  }
}

void orthonormalise(float* columns, size_t length, size_t rank) {
  for (size_t k = 0; k < rank; ++k) {
    float* mine = columns + k * length;
    const double before = exact_dot(mine, mine, length);
    for (size_t other = 0; other < k; ++other) {
      const float* done = columns + other * length;
      add_times(float(-exact_dot(done, mine, length)), done, mine, length);
    }
    const double after = exact_dot(mine, mine, length);
    // What rounding left of a column that the others make up is no direction.
    if (after <= before * 1e-10 || !normalise(mine, length))
      if (std::isfinite(before)) // what is no number stays: it must be seen
        std::fill_n(mine, length, 0.0F);
  }
}

bool normalise(float* column, size_t length) {
  const double squares = exact_dot(column, column, length);
  if (!(squares > 0) || !std::isfinite(squares))
    return false;
  const double scale = 1 / std::sqrt(squares);
  for (size_t i = 0; i < length; ++i)
    column[i] = float(double(column[i]) * scale);
  return true;
}

} // namespace ballast::gpu
