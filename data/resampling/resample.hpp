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

namespace ballast::data {

/// Whether distances are measured, so that all columns but the label must be
/// numbers.
bool needs_numbers(const graph::resampling_order& order);

resampled_rows resample(const labelled_rows& rows,
                        const graph::resampling_order& order, uint64_t seed,
                        const work_terms& how);

} // namespace ballast::data
