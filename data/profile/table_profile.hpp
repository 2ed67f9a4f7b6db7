/// What the columns of a table hold, over all rows: of any number of rows in
/// bounded memory, but for 8 bytes of each where equal rows are counted. Parts
/// may be looked at by several threads; put together in their order they give
/// the same bits. Includes no Arrow: the profile is plain data.
#pragma once

#include "data/fitting/moments.hpp"
#include "data/profile/value_counts.hpp"
#include "data/profile/word_counts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

enum class profiled_kind : uint8_t {
  numbers,
  times, // numbers since 1970, in the unit of the type
  words, // text and booleans
  other, // lists, bytes, ...: only what is missing is counted
};

/// Least and most of 64-bit numbers, of which float64 has but 53 bits.
struct whole_range {
  bool is_signed = true; // else the bits are of uint64_t
  int64_t least = 0;
  int64_t most = 0;
};

struct number_profile {
  moments spread; // of the finite ones
  value_counts counts;
  std::optional<whole_range> exact = {}; // nothing: `spread` is
  uint64_t zeros = 0;
  uint64_t infinite = 0; // of both signs
  uint64_t negative_infinite = 0;
  bool whole = true; // all finite ones are

  counted_values ranked() const {
    return {counts, spread.least, spread.most, whole};
  }
};

struct word_profile {
  word_counts counts;
  uint64_t empty = 0;
  uint64_t least_bytes = 0;
  uint64_t most_bytes = 0;
};

struct column_profile {
  std::string name;
  std::string type; // Arrow's word
  profiled_kind kind = profiled_kind::other;
  uint64_t rows = 0;
  uint64_t missing = 0; // null, or NaN
  /// About: the standard error is distinct_count::standard_error; of few words
  /// exact. At most the rows that have a value.
  double distinct = 0;
  number_profile numbers = {}; // of numbers and times
  word_profile words = {};

  uint64_t present() const { return rows - missing; }
};

struct correlated_pair {
  size_t a = 0; // columns
  size_t b = 0;
  double r = 0;
  uint64_t rows = 0; // that have both
};

struct table_profile {
  std::string source;
  uint64_t rows = 0;
  std::vector<column_profile> columns;
  /// Of the first columns of numbers, but for pairs of which there is none.
  std::vector<correlated_pair> correlations;
  size_t correlated_columns = 0;
  /// Columns of numbers behind those: there are too many.
  std::vector<size_t> uncorrelated;
  /// Rows that are equal to one before them in every column (by 64-bit hashes);
  /// nothing: there are too many rows to count them.
  std::optional<uint64_t> repeated_rows;
};

/// Values outside of Tukey's fences, 1.5 interquartile ranges beyond the
/// quartiles.
struct outliers {
  double low = 0; // the fences
  double high = 0;
  uint64_t below = 0;
  uint64_t above = 0;
};
outliers outliers_of(const number_profile& of);

} // namespace ballast::data
