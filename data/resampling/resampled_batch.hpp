/// The rows that resampling gives, with the columns of its input. Includes
/// Arrow; for source files of data/ only. Pure functions. Errors:
/// ballast_error{invalid_data} of a value that a column's type does not hold.
#pragma once

#include "data/resampling/labelled_rows.hpp"
#include "data/resampling/labelled_table.hpp"

#include <arrow/type_fwd.h>

#include <memory>
#include <vector>

namespace ballast::data {

/// The input's columns, and `source_row` if that is wanted.
std::shared_ptr<arrow::Schema> resampled_schema(const labelled_table& from,
                                                bool with_source);
/// Made rows have rounded values in columns of whole numbers and of booleans.
std::vector<std::shared_ptr<arrow::RecordBatch>>
resampled_batches(const labelled_table& from, const resampled_rows& rows,
                  bool with_source);

} // namespace ballast::data
