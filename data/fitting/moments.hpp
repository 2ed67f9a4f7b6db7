/// Count, mean, spread and range of numbers, as a value that can be put
/// together of parts: the rows of a batch by two passes, parts by the update of
/// Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for
/// computing sample variances", 1979). Sums have one order, whatever the
/// compiler makes of the loop, so that equal parts give equal bits. Pure.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace ballast::data {

struct moments {
  uint64_t count = 0;
  double mean = 0;
  double squares = 0; // sum of (value - mean)^2
  double least = std::numeric_limits<double>::infinity();
  double most = -std::numeric_limits<double>::infinity();

  /// Of n, not n - 1; 0 of no value.
  double variance() const { return count == 0 ? 0 : squares / double(count); }
  double deviation() const;
  /// Whether the spread is what rounding makes of equal values.
  bool is_constant() const;
  bool operator==(const moments&) const = default;
};

/// Of finite numbers.
moments moments_of(std::span<const double> values);
/// `b` comes behind `a`.
moments together(const moments& a, const moments& b);

/// By halves, down to runs of 128.
double pairwise_sum(std::span<const double> values);

/// The same of several columns at once: means, and sums of (x - mean of x)(y -
/// mean of y) for every pair, as a square matrix row after row.
struct comoments {
  uint64_t count = 0;
  std::vector<double> means;
  std::vector<double> products;
};
comoments comoments_of(const std::vector<std::span<const double>>& columns);
comoments together(comoments a, const comoments& b);

} // namespace ballast::data
