#include "data/neighbours/rotated_space.hpp"

#include "data/neighbours/principal_axes.hpp"
#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::data {

namespace {

/// The axes need no more than these rows, and rows with more columns than that
/// are not turned: the axes would take longer than the search.
constexpr size_t rows_looked_at = 8192;
constexpr size_t columns_turned_max = 128;
constexpr double rounding = 0x1p-24; // of float32

BALLAST_VECTORIZED_FMA
void turn(const double* point, const double* mean, const double* axes,
          size_t columns, double scale, double* out) {
  for (size_t t = 0; t < columns; ++t)
    out[t] = 0;
  for (size_t c = 0; c < columns; ++c) {
    const double x = (point[c] - mean[c]) * scale;
    const double* to = axes + c * columns;
    for (size_t t = 0; t < columns; ++t)
      out[t] += x * to[t];
  }
}

/// Rows of a sample, evenly over all.
std::vector<uint32_t> some_of(std::span<const uint32_t> rows) {
  const size_t step = std::max<size_t>(1, rows.size() / rows_looked_at);
  std::vector<uint32_t> out;
  for (size_t i = 0; i < rows.size(); i += step)
    out.push_back(rows[i]);
  return out;
}

} // namespace

rotated_space::rotated_space(const point_view& points,
                             std::span<const uint32_t> rows,
                             const work_terms& how)
    : columns_(points.columns), mean_(columns_) {
  // Each term of the sum has the errors of a difference twice and of a product,
  // and at most all additions; 1.01: their products among each other.
  relative_ = 1.01 * double(columns_ + 4) * rounding;
  absolute_ = 1e-14 * double(columns_);
  const std::vector<uint32_t> sample = some_of(rows);
  for (const uint32_t row : sample)
    for (size_t c = 0; c < columns_; ++c)
      mean_[c] += points.at(row)[c] / double(sample.size());
  look(points, rows, how);
  const std::vector<double> spread =
      second_moments(points, sample, mean_, scale_);
  if (columns_ <= columns_turned_max) {
    turn_ = principal_axes(spread, columns_);
    return;
  }
  order_.resize(columns_);
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
    return spread[a * columns_ + a] > spread[b * columns_ + b];
  });
}

/// The scale: no norm is above 1 then, so that no square leaves float32.
void rotated_space::look(const point_view& points,
                         std::span<const uint32_t> rows,
                         const work_terms& how) {
  constexpr size_t piece = 4096;
  const size_t pieces = (rows.size() + piece - 1) / piece;
  std::vector<double> widest(pieces);
  parallel_work(pieces, how, [&](size_t p) {
    double most = 0;
    for (size_t i = p * piece; i < std::min((p + 1) * piece, rows.size()); ++i)
      for (size_t c = 0; c < columns_; ++c)
        most = std::max(most, std::abs(points.at(rows[i])[c] - mean_[c]));
    widest[p] = most;
  });
  const double most = *std::max_element(widest.begin(), widest.end());
  if (most > 0)
    scale_ = 1 / (most * std::sqrt(double(columns_)));
}

void rotated_space::place(const double* point, float* out,
                          double* scratch) const {
  if (order_.empty())
    turn(point, mean_.data(), turn_.data(), columns_, scale_, scratch);
  for (size_t t = 0; t < order_.size(); ++t)
    scratch[t] = (point[order_[t]] - mean_[order_[t]]) * scale_;
  for (size_t t = 0; t < columns_; ++t)
    out[t] = float(scratch[t]);
}

/// With places p, q of true places P, Q: |p - P| <= rounding |P|, and no point
/// at distance D of Q has a norm above |Q| + D. So the distance of p and q is
/// D + rounding (2 |Q| + D) at most, and its square, computed, the same times
/// 1 + relative. The last number is what numbers below the smallest of float32
/// may have lost.
float rotated_space::limit(double squared, double norm) const {
  const double distance = std::sqrt(squared) * scale_;
  const double most = distance + 1.01 * rounding * (2 * norm + distance) +
                      absolute_ * (1 + distance);
  const double limit = most * most * (1 + relative_) + 1e-30;
  return float(limit * (1 + 2 * rounding));
}

/// No norm is above 1.
float rotated_space::at_least(double squared) const {
  const double distance = std::sqrt(squared) * scale_;
  const double least =
      std::max(0.0, distance - 2.02 * rounding - absolute_ * (1 + distance));
  const double limit = least * least * (1 - relative_) - 1e-30;
  return float(limit * (1 - 2 * rounding));
}

} // namespace ballast::data
