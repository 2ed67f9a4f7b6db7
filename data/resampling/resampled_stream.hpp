/// A node of a data graph that gives the classes other shares: the rows of
/// resample() (data/resampling/resample.hpp), those of the input first, in
/// batches. A row that was made has the origin of the row that it was made
/// from; a centre of several that of a row of its class. Includes Arrow; for
/// source files of data/ only.
///
/// Holds all rows of the input, and those that it gives. One owner, one thread,
/// which starts others while it works. Errors: ballast_error{invalid_data} with
/// row, column or class for rows that the method cannot be applied to, and for
/// more rows than the memory of the operator holds.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"
#include "runtime/graph/resampling_methods.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace ballast::data {

struct resampling_terms {
  std::string label; // a column
  graph::resampling_order order;
  size_t threads = 1; // the rows are the same for any number
};

std::unique_ptr<record_stream>
resampled_stream(std::unique_ptr<record_stream> from, resampling_terms terms,
                 operator_context context);

} // namespace ballast::data
