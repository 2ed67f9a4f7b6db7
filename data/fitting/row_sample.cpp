#include "data/fitting/row_sample.hpp"

#include "runtime/base/random.hpp"

#include <algorithm>
#include <utility>

namespace ballast::data {

row_sample::row_sample(size_t rows_max, size_t columns)
    : rows_max_(rows_max), columns_(columns) {}

void row_sample::add(uint64_t number, std::span<const double> row) {
  numbers_.push_back(number);
  values_.insert(values_.end(), row.begin(), row.end());
  if (numbers_.size() >= 2 * rows_max_)
    thin_out();
}

void row_sample::merge(const row_sample& later) {
  numbers_.insert(numbers_.end(), later.numbers_.begin(), later.numbers_.end());
  values_.insert(values_.end(), later.values_.begin(), later.values_.end());
  thin_out();
}

void row_sample::thin_out() {
  if (numbers_.size() <= rows_max_)
    return;
  const counter_random random(0, 0x726f7773);      // "rows"
  std::vector<std::pair<uint64_t, uint64_t>> keys; // and the row's number
  keys.reserve(numbers_.size());
  for (const uint64_t number : numbers_)
    keys.emplace_back(random.at(number), number);
  std::vector<std::pair<uint64_t, uint64_t>> lowest = keys;
  const auto last = lowest.begin() + std::ptrdiff_t(rows_max_);
  std::nth_element(lowest.begin(), last, lowest.end());
  size_t to = 0;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!(keys[i] < *last))
      continue;
    numbers_[to] = numbers_[i];
    std::copy_n(values_.begin() + std::ptrdiff_t(i * columns_), columns_,
                values_.begin() + std::ptrdiff_t(to * columns_));
    ++to;
  }
  numbers_.resize(to);
  values_.resize(to * columns_);
}

} // namespace ballast::data
