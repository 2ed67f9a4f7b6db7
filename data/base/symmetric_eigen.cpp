#include "data/base/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::data {

namespace {

/// Makes entry (p, q) 0; the vectors turn along.
void rotate(std::vector<double>& a, std::vector<double>& vectors, size_t size,
            size_t p, size_t q) {
  const double off = a[p * size + q];
  if (off == 0)
    return;
  const double theta = (a[q * size + q] - a[p * size + p]) / (2 * off);
  const double t = std::copysign(1.0, theta) /
                   (std::abs(theta) + std::sqrt(theta * theta + 1));
  const double c = 1 / std::sqrt(t * t + 1);
  const double s = t * c;
  for (size_t k = 0; k < size; ++k) { // columns
    const double kp = a[k * size + p];
    const double kq = a[k * size + q];
    a[k * size + p] = c * kp - s * kq;
    a[k * size + q] = s * kp + c * kq;
  }
  for (size_t k = 0; k < size; ++k) { // rows; of the vectors the same
    const double pk = a[p * size + k];
    const double qk = a[q * size + k];
    a[p * size + k] = c * pk - s * qk;
    a[q * size + k] = s * pk + c * qk;
    const double vp = vectors[p * size + k];
    const double vq = vectors[q * size + k];
    vectors[p * size + k] = c * vp - s * vq;
    vectors[q * size + k] = s * vp + c * vq;
  }
  a[p * size + q] = a[q * size + p] = 0;
}

/// The square root of the sum of squares.
double off_diagonal(const std::vector<double>& a, size_t size) {
  double sum = 0;
  for (size_t p = 0; p < size; ++p)
    for (size_t q = p + 1; q < size; ++q)
      sum += a[p * size + q] * a[p * size + q];
  return std::sqrt(sum);
}

} // namespace

eigen_pairs eigen_of(std::vector<double> matrix, size_t size, double enough) {
  constexpr int sweeps_max = 60; // some ten are enough
  std::vector<double> vectors(size * size);
  double trace = 0;
  for (size_t i = 0; i < size; ++i) {
    vectors[i * size + i] = 1;
    trace += matrix[i * size + i];
  }
  double before = off_diagonal(matrix, size);
  for (int sweep = 0; sweep < sweeps_max && before > enough * trace; ++sweep) {
    for (size_t p = 0; p < size; ++p)
      for (size_t q = p + 1; q < size; ++q)
        rotate(matrix, vectors, size, p, q);
    const double now = off_diagonal(matrix, size);
    if (now >= before && sweep > 3)
      break;
    before = now;
  }
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) {
    return matrix[x * size + x] > matrix[y * size + y];
  });
  eigen_pairs out;
  for (size_t one : order) {
    out.values.push_back(matrix[one * size + one]);
    const auto begin = vectors.begin() + ptrdiff_t(one * size);
    const auto largest = std::max_element(
        begin, begin + ptrdiff_t(size),
        [](double x, double y) { return std::abs(x) < std::abs(y); });
    const double sign = *largest < 0 ? -1 : 1;
    for (size_t k = 0; k < size; ++k)
      out.vectors.push_back(sign * begin[ptrdiff_t(k)]);
  }
  return out;
}

} // namespace ballast::data
