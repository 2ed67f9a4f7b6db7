/// How often numbers occur, by the leading bits of their distance from an
/// origin: sign, exponent and eight bits of the mantissa. So a value is known
/// to within 0.2 % of that distance, and whole numbers exactly that are less
/// than 512 from a whole origin. Counts are whole: whoever counted which part,
/// the sum is the same. Memory: 2 KiB for each power of two that occurs, and
/// sign. A value; one owner, one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ballast::data {

class value_counts {
public:
  /// Values of one bucket, least <= value < most, but for the last bit.
  struct bucket {
    double least = 0;
    double most = 0;
    uint64_t count = 0;
  };

  /// Near the values if these are far from 0 and close to each other.
  explicit value_counts(double origin) : origin_(origin) {}
  value_counts() : value_counts(0) {}
  value_counts(const value_counts& other);
  value_counts& operator=(const value_counts& other);
  value_counts(value_counts&&) noexcept = default;
  value_counts& operator=(value_counts&&) noexcept = default;
  ~value_counts() = default;

  /// Finite numbers.
  void add(std::span<const double> values);
  /// `other`: with the same origin.
  void merge(const value_counts& other);

  uint64_t count() const { return count_; }
  /// Those that have values, the smallest first.
  std::vector<bucket> buckets() const;

private:
  /// Of sign and exponent, in groups, because a table may have thousands of
  /// columns and few of them values of all sizes.
  static constexpr size_t groups = 64;
  static constexpr size_t pages = 64; // of a group
  static constexpr size_t page_size = 256;
  using page = std::array<uint64_t, page_size>;
  using group = std::array<std::unique_ptr<page>, pages>;

  page& page_of(size_t sign_and_exponent);

  std::vector<std::unique_ptr<group>> groups_; // empty: none
  uint64_t count_ = 0;
  double origin_;
};

/// Where to count values like these from.
double origin_of(std::vector<double> values);

/// Ranks and shares of counted values, between the true least and most.
class counted_values {
public:
  /// `whole`: all values are whole numbers.
  counted_values(const value_counts& of, double least, double most, bool whole);

  uint64_t count() const { return count_; }
  /// The value below which this part of them lies. Of none 0.
  double quantile(double part) const;
  /// How many are below, in proportion within a bucket.
  double below(double value) const;
  /// Counts in bins of equal width from the least on.
  struct histogram {
    double width = 0;
    std::vector<uint64_t> counts;
  };
  /// Of at most so many bins: of whole numbers each has as many, so that none
  /// stands out for that.
  histogram in_bins(size_t bins_max) const;

private:
  std::vector<value_counts::bucket> buckets_; // within least and most
  std::vector<uint64_t> ends_;                // values up to and with a bucket
  uint64_t count_ = 0;
  double least_ = 0;
  double most_ = 0;
  bool whole_ = false;
};

} // namespace ballast::data
