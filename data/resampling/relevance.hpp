/// Which values of a number are rare, for resampling where a number is to be
/// predicted: the relevance of a value, from 0 (usual) to 1 (rare), and the
/// ranges of values that follow from it (Ribeiro: "Utility-based regression",
/// 2011; Torgo, Ribeiro, Pfahringer, Branco: "SMOTE for regression", EPIA
/// 2013). Pure functions. Errors: ballast_error{usage} of an option,
/// ballast_error{invalid_data} of numbers without rare ones.
#pragma once

#include "data/resampling/resample.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

/// A value, and its relevance.
struct control_point {
  double value = 0;
  double relevance = 0;
};

/// As the options of an order say: points that are said, or those of a box plot
/// of these values: the median has relevance 0, the last value on a side that
/// is no outlier 1 if there are outliers beyond it. `label`: the column.
std::vector<control_point> control_points(std::span<const double> values,
                                          const range_terms& terms,
                                          const std::string& label);
/// Between two points a cubic without slope at both; beyond the last ones
/// theirs.
double relevance_of(double value, std::span<const control_point> points);

/// Runs of values, in order, that all have a relevance of at least the
/// threshold, or all less.
struct value_ranges {
  std::vector<uint32_t> of_row;
  std::vector<std::string> names; // "3.5 to 9, rare"
};
value_ranges ranges_of(std::span<const double> values, const range_terms& terms,
                       const std::string& label);

} // namespace ballast::data
