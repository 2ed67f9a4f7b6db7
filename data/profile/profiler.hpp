/// Makes the profile of a table of its batches. Includes Arrow; for source
/// files of data/ only.
#pragma once

#include "data/profile/distinct_count.hpp"
#include "data/profile/pair_sums.hpp"
#include "data/profile/table_profile.hpp"

#include <arrow/type_fwd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

class profiler {
public:
  /// Columns of numbers of which all pairs are correlated.
  static constexpr size_t correlated_max = 64;

  struct column_part {
    column_profile about;
    distinct_count different;
  };
  struct part {
    std::vector<column_part> columns;
    std::optional<pair_sums> pairs;
    std::vector<uint64_t> row_hashes;
  };

  /// `first`: the first batch, which is looked at by look() as the others are.
  /// `rows_max`: of which equal ones are counted.
  profiler(const arrow::RecordBatch& first, uint64_t rows_max);

  /// Any thread; const.
  part look(const arrow::RecordBatch& batch) const;
  /// In the order of the batches. Owner's thread.
  void add(part next);
  table_profile finish(std::string source);

private:
  std::vector<size_t> correlated_;   // columns
  std::vector<size_t> uncorrelated_; // of numbers, too many
  std::vector<double> shifts_;       // of those that are correlated
  std::vector<double> origins_;      // of all columns
  const uint64_t rows_max_;
  uint64_t rows_ = 0;
  part all_;
};

} // namespace ballast::data
