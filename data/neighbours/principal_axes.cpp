#include "data/neighbours/principal_axes.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::data {

namespace {

constexpr int sweeps_max = 30;
constexpr double small = 1e-13; // of the trace: good enough for directions

BALLAST_VECTORIZED_FMA
void add_outer(const double* x, size_t size, double* sums) {
  for (size_t a = 0; a < size; ++a)
    for (size_t b = 0; b <= a; ++b)
      sums[a * size + b] += x[a] * x[b];
}

/// Turns axes p and q of a symmetric matrix so that their product vanishes.
void turn_pair(std::vector<double>& m, std::vector<double>& axes, size_t size,
               size_t p, size_t q) {
  const double both = m[p * size + q];
  if (both == 0)
    return;
  const double theta = (m[q * size + q] - m[p * size + p]) / (2 * both);
  const double t =
      (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double cosine = 1 / std::sqrt(t * t + 1);
  const double sine = t * cosine;
  const auto turn = [cosine, sine](double& a, double& b) {
    const double old = a;
    a = cosine * old - sine * b;
    b = sine * old + cosine * b;
  };
  for (size_t k = 0; k < size; ++k)
    turn(m[k * size + p], m[k * size + q]);
  for (size_t k = 0; k < size; ++k)
    turn(m[p * size + k], m[q * size + k]);
  for (size_t k = 0; k < size; ++k)
    turn(axes[k * size + p], axes[k * size + q]);
}

double outside_diagonal(const std::vector<double>& m, size_t size) {
  double sum = 0;
  for (size_t a = 0; a < size; ++a)
    for (size_t b = 0; b < a; ++b)
      sum += std::abs(m[a * size + b]);
  return sum;
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

/// Jacobi's method: rotations only, so that the axes stay orthogonal.
std::vector<double> principal_axes(std::vector<double> m, size_t size) {
  std::vector<double> axes(size * size);
  double trace = 0;
  for (size_t c = 0; c < size; ++c) {
    axes[c * size + c] = 1;
    trace += m[c * size + c];
  }
  for (int sweep = 0; sweep < sweeps_max; ++sweep) {
    if (!(outside_diagonal(m, size) > small * trace))
      break;
    for (size_t p = 0; p < size; ++p)
      for (size_t q = p + 1; q < size; ++q)
        turn_pair(m, axes, size, p, q);
  }
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return m[a * size + a] > m[b * size + b];
  });
  std::vector<double> out(size * size);
  for (size_t c = 0; c < size; ++c)
    for (size_t t = 0; t < size; ++t)
      out[c * size + t] = axes[c * size + order[t]];
  return out;
}

} // namespace ballast::data
