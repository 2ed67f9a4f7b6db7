#include "data/neighbours/principal_axes.hpp"

#include "data/base/symmetric_eigen.hpp"
#include "runtime/base/vectorized.hpp"

#include <utility>

namespace ballast::data {

namespace {

BALLAST_VECTORIZED_FMA
void add_outer(const double* x, size_t size, double* sums) {
  for (size_t a = 0; a < size; ++a)
    for (size_t b = 0; b <= a; ++b)
      sums[a * size + b] += x[a] * x[b];
}

} // namespace

std::vector<double> second_moments(const point_view& points,
                                   std::span<const uint32_t> rows,
                                   std::span<const double> mean, double scale) {
  const size_t size = points.columns;
  std::vector<double> out(size * size), x(size);
  const auto moved = [&](uint32_t row) {
    for (size_t c = 0; c < size; ++c)
      x[c] = (points.at(row)[c] - mean[c]) * scale;
  };
  constexpr size_t whole_max = 512; // beyond, only the diagonal is of use
  for (const uint32_t row : rows) {
    moved(row);
    if (size <= whole_max)
      add_outer(x.data(), size, out.data());
    else
      for (size_t c = 0; c < size; ++c)
        out[c * size + c] += x[c] * x[c];
  }
  for (size_t a = 0; a < size; ++a)
    for (size_t b = 0; b < a; ++b)
      out[b * size + a] = out[a * size + b];
  return out;
}

std::vector<double> principal_axes(std::vector<double> symmetric, size_t size) {
  constexpr double enough = 1e-13; // for directions
  const std::vector<double> rows =
      eigen_of(std::move(symmetric), size, enough).vectors;
  std::vector<double> out(size * size);
  for (size_t c = 0; c < size; ++c)
    for (size_t t = 0; t < size; ++t)
      out[c * size + t] = rows[t * size + c];
  return out;
}

} // namespace ballast::data
