/// Other shares of the classes in a table of numbers: rows are drawn, added
/// between others, or removed by what is around them. Pure functions: the same
/// rows, order and seed give the same result, bit by bit, for any number of
/// threads and on any CPU.
///
/// Errors: ballast_error{usage} of an option that these rows do not allow,
/// ballast_error{invalid_data} of rows that the method cannot be applied to;
/// both name the class and what was expected.
#pragma once

#include "data/neighbours/parallel_work.hpp"
#include "data/resampling/labelled_rows.hpp"
#include "runtime/graph/resampling_methods.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

/// Which values of a label that is a number are rare (relevance.hpp).
struct range_terms {
  std::string relevance; // "auto", or control points as JSON
  double threshold = 0;
  double coefficient = 0;
  graph::rare_values rare{};
};

/// How the columns beside the label are read: as they are; as numbers, where
/// distances are measured; as categories; or some so and some so.
struct feature_reading {
  bool numbers = false;
  bool categories = false;
  /// Of both: those that are categories; empty: those of text and booleans.
  std::vector<std::string> named = {};
  /// The label is a number, its ranges are the classes.
  std::optional<range_terms> ranges = {};
};
feature_reading reading_of(const graph::resampling_order& order);

resampled_rows resample(const labelled_rows& rows,
                        const graph::resampling_order& order, uint64_t seed,
                        const work_terms& how);

} // namespace ballast::data
