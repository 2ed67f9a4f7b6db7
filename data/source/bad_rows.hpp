/// Batches without the rows that something is wrong with. Includes Arrow; for
/// source files of data/ only. Pure; errors are Arrow's.
#pragma once

#include "data/expression/expression.hpp"
#include "data/source/record_stream.hpp"
#include "data/source/row_faults.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// Of each row the first that was found, in the order of the rows.
void put_in_order(std::vector<bad_row>& rows);

/// The others; `bad` is in order, each once.
selected_rows without_rows(const std::shared_ptr<arrow::RecordBatch>& batch,
                           const std::vector<bad_row>& bad);

/// What the file has: the text of a row that spans lines; and, `always`, of any
/// other in place of its cells. A text that is known stays.
void add_written(row_fault& to, written_row row, bool always);

/// Named cells of a row as a user sees them, at most fault_values_max; not
/// those of columns that the program added, whose names begin with "__".
std::vector<named_value> values_of(const arrow::RecordBatch& batch,
                                   int64_t row);

} // namespace ballast::data
