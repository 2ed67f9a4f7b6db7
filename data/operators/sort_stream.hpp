/// Sorts the rows of a stream by columns: stable, nulls last, NaN after the
/// numbers, texts by their bytes, whichever way the rest goes. Includes Arrow;
/// for source files of data/ only.
///
/// Rows that fit into memory are sorted there; otherwise a merge sort on disk.
/// One owner, one thread. Errors: source_error for a column that is not there
/// or has no order, before a row is read; else those of spill_file.hpp.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

struct sort_key {
  std::string column;
  bool descending = false;
};

std::unique_ptr<record_stream> sort_rows(std::unique_ptr<record_stream> from,
                                         std::vector<sort_key> by,
                                         operator_context context);

} // namespace ballast::data
