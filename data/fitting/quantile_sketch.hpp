/// Quantiles of any number of values in bounded memory, as a value that can be
/// put together of parts.
///
/// Up to exact_values_max values are kept as they are, and quantiles are exact.
/// More go through compactors (Manku, Rajagopalan, Lindsay 1998; Karnin, Lang,
/// Liberty 2016): a full one is sorted, and every second value goes up a level,
/// where it counts twice. Which of two goes up alternates instead of being
/// drawn, so that the same parts give the same sketch; and each of these steps
/// moves the rank of no value by more than the weight of one, which error()
/// adds up to a bound that holds, not one that is likely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

/// Values in order with their weights: of an exact sketch each weighs 1.
class ranked_values {
public:
  struct value {
    double is = 0;
    uint64_t weight = 1;
  };
  explicit ranked_values(std::vector<value> sorted);

  uint64_t count() const { return ends_.empty() ? 0 : ends_.back(); }
  /// That of rank `rank`, from 0. Precondition: rank < count().
  double at(uint64_t rank) const;
  /// Between two neighbours in proportion, as numpy's "linear". Of no value 0.
  double quantile(double part) const;
  /// The median distance from `middle`.
  double median_distance(double middle) const;
  const std::vector<value>& sorted() const { return values_; }

private:
  std::vector<value> values_;
  std::vector<uint64_t> ends_;
};

class quantile_sketch {
public:
  static constexpr size_t exact_values_max = size_t{1} << 20;
  static constexpr size_t compact_values = size_t{1} << 13; // of a level

  /// Finite numbers.
  void add(std::span<const double> values);
  /// `later` comes behind this.
  void merge(const quantile_sketch& later);

  uint64_t count() const { return count_; }
  /// How far the rank of a value may be off, as a part of all values; 0: exact.
  double error() const {
    return count_ == 0 ? 0 : double(error_rows_) / double(count_);
  }
  ranked_values ranked() const;

private:
  void compact();

  std::vector<std::vector<double>> levels_{{}}; // of weight 1, 2, 4, ...
  std::vector<bool> takes_second_{false};       // by level
  uint64_t count_ = 0;
  uint64_t error_rows_ = 0;
};

} // namespace ballast::data
