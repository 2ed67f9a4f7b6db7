#include "data/fitting/mutual_information.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

/// The bin of each of some sorted values: those of equal ones are equal.
std::vector<size_t> bins_of(const std::vector<double>& sorted, uint64_t most) {
  const size_t rows = sorted.size();
  size_t different = 0;
  for (size_t i = 0; i < rows; ++i)
    different += i == 0 || sorted[i] != sorted[i - 1] ? 1 : 0;
  std::vector<size_t> out(rows);
  for (size_t begin = 0, number = 0; begin < rows; ++number) {
    size_t end = begin;
    while (end < rows && sorted[end] == sorted[begin])
      ++end;
    // Of a value that several rows have its middle one decides.
    const size_t bin =
        different <= most ? number : (begin + (end - begin) / 2) * most / rows;
    for (; begin < end; ++begin)
      out[begin] = bin;
  }
  return out;
}

} // namespace

double mutual_information(const row_sample& rows, size_t column,
                          uint64_t bins) {
  std::vector<std::pair<double, size_t>> order; // with the class
  size_t classes = 0;
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto of_class = size_t(rows.at(row).back());
    classes = std::max(classes, of_class + 1);
    order.emplace_back(rows.at(row)[column], of_class);
  }
  std::sort(order.begin(), order.end());
  std::vector<double> sorted;
  sorted.reserve(order.size());
  for (const auto& one : order)
    sorted.push_back(one.first);
  const std::vector<size_t> bin = bins_of(sorted, bins);
  std::vector<double> of_class(classes), in_bin(bins), both(bins * classes);
  for (size_t i = 0; i < order.size(); ++i) {
    ++of_class[order[i].second];
    ++in_bin[bin[i]];
    ++both[bin[i] * classes + order[i].second];
  }
  const auto all = double(rows.rows());
  double out = 0;
  for (size_t b = 0; b < bins; ++b)
    for (size_t c = 0; c < classes; ++c)
      if (const double count = both[b * classes + c]; count > 0)
        out += count / all * std::log(count * all / (in_bin[b] * of_class[c]));
  return std::max(out, 0.0);
}

} // namespace ballast::data
