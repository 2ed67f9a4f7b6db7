/// What `sampling_strategy` says of each class. Pure functions. Errors:
/// ballast_error{usage} of a strategy, ballast_error{invalid_data} of rows that
/// none can be applied to.
#pragma once

#include "data/resampling/labelled_rows.hpp"
#include "runtime/graph/resampling_methods.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

struct class_target {
  uint32_t of_class = 0;
  /// Over: how many to add; under: how many to keep; clean: nothing.
  uint64_t rows = 0;
};

/// By class. Of several that are smallest, or largest, the first is meant.
std::vector<class_target> sampling_targets(const std::string& strategy,
                                           graph::resampling_kind kind,
                                           const labelled_rows& rows);

/// The smallest class; of several the first.
uint32_t smallest_class(const rows_by_class& rows);

} // namespace ballast::data
