/// Sums over pairs of columns for their correlations, each over the rows in
/// which both have a number. Columns are shifted by their first number, so that
/// a large mean costs no digits. A value; parts are put together in their
/// order. One owner, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace ballast::data {

class pair_sums {
public:
  /// Of a batch: a number for each row, NaN where there is none. All columns
  /// are of one length.
  using columns = std::vector<std::vector<double>>;

  /// `shifts`: a number for each column, near its values.
  explicit pair_sums(std::vector<double> shifts);

  void add(const columns& values);
  /// `later`: with the same shifts.
  void merge(const pair_sums& later);

  /// Pearson's r of the rows that have both; nothing: fewer than two of these,
  /// or one of the columns is constant in them.
  std::optional<double> correlation(size_t a, size_t b) const;
  uint64_t rows(size_t a, size_t b) const;

private:
  /// For a < b, and for each column with itself.
  struct sums {
    uint64_t rows = 0;
    double a = 0;
    double b = 0;
    double aa = 0;
    double bb = 0;
    double ab = 0;
  };
  size_t index(size_t a, size_t b) const;

  std::vector<double> shifts_;
  std::vector<sums> pairs_;
};

} // namespace ballast::data
