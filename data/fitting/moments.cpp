#include "data/fitting/moments.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::data {

namespace {

constexpr size_t lanes = 8;
constexpr size_t run = 128;

/// Eight sums side by side, so that the loop is one of vectors, put together in
/// a fixed order.
template <class Term>
double sum_of_run(const double* values, size_t count, const Term& term) {
  double sums[lanes] = {};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t k = 0; k < lanes; ++k)
      sums[k] += term(values[i + k]);
  for (size_t k = 0; i + k < count; ++k)
    sums[k] += term(values[i + k]);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) +
         ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <class Term>
double sum_by_halves(const double* values, size_t count, const Term& term) {
  if (count <= run)
    return sum_of_run(values, count, term);
  const size_t half = (count / 2 + run - 1) / run * run;
  return sum_by_halves(values, half, term) +
         sum_by_halves(values + half, count - half, term);
}

} // namespace

double moments::deviation() const {
  return std::sqrt(variance());
}

bool moments::is_constant() const {
  // The error bound of a variance by two passes (Chan et al. 1983, eq. 3.5).
  constexpr double unit = std::numeric_limits<double>::epsilon();
  const double rounding = double(count) * mean * unit;
  return std::isfinite(squares) &&
         variance() <= double(count) * unit * variance() + rounding * rounding;
}

double pairwise_sum(std::span<const double> values) {
  return sum_by_halves(values.data(), values.size(),
                       [](double value) { return value; });
}

moments moments_of(std::span<const double> values) {
  moments out;
  out.count = values.size();
  if (values.empty())
    return out;
  out.mean = pairwise_sum(values) / double(values.size());
  const double mean = out.mean;
  // What the mean lost by rounding is taken out of the squares again.
  const double rest = sum_by_halves(values.data(), values.size(),
                                    [mean](double x) { return x - mean; });
  out.squares =
      sum_by_halves(values.data(), values.size(),
                    [mean](double x) { return (x - mean) * (x - mean); }) -
      rest * rest / double(values.size());
  double least = values[0];
  double most = values[0];
  for (double value : values) {
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
  out.least = least;
  out.most = most;
  return out;
}

moments together(const moments& a, const moments& b) {
  if (a.count == 0 || b.count == 0)
    return a.count == 0 ? b : a;
  moments out;
  out.count = a.count + b.count;
  const double part = double(b.count) / double(out.count);
  const double apart = b.mean - a.mean;
  out.mean = a.mean + apart * part;
  out.squares =
      a.squares + b.squares + apart * apart * (double(a.count) * part);
  out.least = std::min(a.least, b.least);
  out.most = std::max(a.most, b.most);
  return out;
}

comoments comoments_of(const std::vector<std::span<const double>>& columns) {
  comoments out;
  const size_t wide = columns.size();
  out.count = wide == 0 ? 0 : columns[0].size();
  std::vector<std::vector<double>> centred;
  for (const std::span<const double>& column : columns) {
    const double mean =
        column.empty() ? 0 : pairwise_sum(column) / double(column.size());
    out.means.push_back(mean);
    std::vector<double>& own = centred.emplace_back(column.size());
    for (size_t i = 0; i < column.size(); ++i)
      own[i] = column[i] - mean;
  }
  out.products.resize(wide * wide);
  std::vector<double> products(size_t(out.count));
  for (size_t x = 0; x < wide; ++x)
    for (size_t y = 0; y <= x; ++y) {
      for (size_t i = 0; i < products.size(); ++i)
        products[i] = centred[x][i] * centred[y][i];
      out.products[x * wide + y] = out.products[y * wide + x] =
          pairwise_sum(products);
    }
  return out;
}

comoments together(comoments a, const comoments& b) {
  if (a.count == 0 || b.count == 0)
    return a.count == 0 ? b : a;
  const uint64_t count = a.count + b.count;
  const double part = double(b.count) / double(count);
  const size_t wide = a.means.size();
  for (size_t x = 0; x < wide; ++x)
    for (size_t y = 0; y < wide; ++y)
      a.products[x * wide + y] +=
          b.products[x * wide + y] + (b.means[x] - a.means[x]) *
                                         (b.means[y] - a.means[y]) *
                                         (double(a.count) * part);
  for (size_t x = 0; x < wide; ++x)
    a.means[x] += (b.means[x] - a.means[x]) * part;
  a.count = count;
  return a;
}

} // namespace ballast::data
