/// Some rows of a stream in bounded memory, as a value that can be put together
/// of parts: all of them as long as they fit, else those with the lowest of
/// random numbers that hang on the row's number alone, each row as likely as
/// any other. So the same rows are kept however they came in parts. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

class row_sample {
public:
  row_sample() = default;
  /// At most so many rows of so many columns.
  row_sample(size_t rows_max, size_t columns);

  /// Row `number` of all; rows come in order. Until thin_out() there may be
  /// twice as many rows.
  void add(uint64_t number, std::span<const double> row);
  void thin_out();
  /// `later` comes behind this.
  void merge(const row_sample& later);

  size_t rows() const { return numbers_.size(); }
  std::span<const double> at(size_t row) const {
    return std::span(values_).subspan(row * columns_, columns_);
  }
  /// Puts others in the place of the last column's values.
  template <class Change>
  void change_last(const Change& change) {
    for (size_t at = columns_ - 1; at < values_.size(); at += columns_)
      values_[at] = change(values_[at]);
  }
  /// rows x columns, in the order of their numbers.
  const std::vector<double>& values() const { return values_; }

private:
  size_t rows_max_ = 0;
  size_t columns_ = 0;
  std::vector<uint64_t> numbers_;
  std::vector<double> values_;
};

} // namespace ballast::data
