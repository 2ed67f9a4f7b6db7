#include "data/fitting/quantile_sketch.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::data {

ranked_values::ranked_values(std::vector<value> sorted)
    : values_(std::move(sorted)) {
  uint64_t end = 0;
  for (const value& one : values_)
    ends_.push_back(end += one.weight);
}

double ranked_values::at(uint64_t rank) const {
  const auto found = std::upper_bound(ends_.begin(), ends_.end(), rank);
  return values_[size_t(found - ends_.begin())].is;
}

double ranked_values::quantile(double part) const {
  if (values_.empty())
    return 0;
  const double place = double(count() - 1) * part;
  const auto below = uint64_t(std::floor(place));
  const double low = at(below);
  const double high = at(std::min(below + 1, count() - 1));
  const double between = place - double(below);
  return between < 0.5 ? low + (high - low) * between
                       : high - (high - low) * (1 - between);
}

double ranked_values::median_distance(double middle) const {
  std::vector<value> out = values_;
  for (value& one : out)
    one.is = std::abs(one.is - middle);
  std::sort(out.begin(), out.end(),
            [](const value& a, const value& b) { return a.is < b.is; });
  return ranked_values(std::move(out)).quantile(0.5);
}

void quantile_sketch::add(std::span<const double> values) {
  levels_[0].insert(levels_[0].end(), values.begin(), values.end());
  count_ += values.size();
  compact();
}

void quantile_sketch::merge(const quantile_sketch& later) {
  while (levels_.size() < later.levels_.size()) {
    levels_.emplace_back();
    takes_second_.push_back(false);
  }
  for (size_t level = 0; level < later.levels_.size(); ++level)
    levels_[level].insert(levels_[level].end(), later.levels_[level].begin(),
                          later.levels_[level].end());
  count_ += later.count_;
  error_rows_ += later.error_rows_;
  compact();
}

void quantile_sketch::compact() {
  if (levels_.size() == 1 && levels_[0].size() <= exact_values_max)
    return;
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].size() < compact_values)
      continue;
    if (level + 1 == levels_.size()) {
      levels_.emplace_back();
      takes_second_.push_back(false);
    }
    std::vector<double> full = std::move(levels_[level]);
    std::sort(full.begin(), full.end());
    levels_[level].clear();
    if (full.size() % 2 == 1) {
      levels_[level].push_back(full.back());
      full.pop_back();
    }
    for (size_t i = takes_second_[level] ? 1 : 0; i < full.size(); i += 2)
      levels_[level + 1].push_back(full[i]);
    takes_second_[level] = !takes_second_[level];
    error_rows_ += uint64_t{1} << level;
  }
}

ranked_values quantile_sketch::ranked() const {
  std::vector<ranked_values::value> out;
  for (size_t level = 0; level < levels_.size(); ++level)
    for (double one : levels_[level])
      out.push_back({one, uint64_t{1} << level});
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::pair(a.is, a.weight) < std::pair(b.is, b.weight);
  });
  return ranked_values(std::move(out));
}

} // namespace ballast::data
