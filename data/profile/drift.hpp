/// How far the rows of one table differ from those of another, column by
/// column: what a model that was trained on the first must expect of the
/// second. Pure.
///
/// Numbers: the largest distance of the two distribution functions
/// (Kolmogorov-Smirnov), infinities included, and the population stability
/// index over ten bins with equal shares of the first table and one for each
/// infinity. Words: word_drift.hpp. Shares of 0 count as 10^-4 in the index, as
/// usual; what is missing is a bin of its own, so that numbers that are all
/// missing in one of the tables have an index, but no distance.
#pragma once

#include "data/profile/table_profile.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

/// The usual limits of the index: below 0.1 no change, from 0.25 on a large
/// one.
enum class drift_size : uint8_t { none, some, large };
std::string to_string(drift_size what);

struct column_drift {
  std::string name;
  std::string type; // of the first table
  /// 0 to 1; nothing: of no common kind, or one has no values.
  std::optional<double> distance;
  std::optional<double> stability;
  bool estimated = false;    // there are more words than are all counted
  double missing_before = 0; // shares of the rows
  double missing_after = 0;
  /// As in word_drift.
  std::vector<std::string> new_words;
  uint64_t new_word_rows = 0;
  drift_size size = drift_size::none;
  std::string note; // "has become utf8", ...; may be empty
};

struct table_drift {
  std::string before;
  std::string after;
  std::vector<column_drift> columns; // in the order of the first table
  std::vector<std::string> gone;     // columns of the first table alone
  std::vector<std::string> fresh;    // of the second alone
};

table_drift drift_between(const table_profile& before,
                          const table_profile& after);

} // namespace ballast::data
