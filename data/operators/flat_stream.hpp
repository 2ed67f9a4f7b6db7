/// Rows out of lists, and lists out of rows: flat_map, batch and unbatch.
/// Includes Arrow; for source files of data/ only.
///
/// Streaming: what a batch becomes is handed out in parts, so that the columns
/// that are repeated beside long lists never need memory for all items. Their
/// mistakes are found before a row is read: ballast_error{invalid_data} of a
/// column that is not there, or holds no lists; lists of one row that differ in
/// length are found with their row.
#pragma once

#include "data/operators/column_stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

/// A row for each item of the lists in these columns. `keep_empty`: one with a
/// missing item of a row without items, too.
stream_pointer flat_rows(stream_pointer from,
                         const std::vector<std::string>& columns,
                         bool keep_empty, operator_context context);

/// Each `rows` rows as one of lists. It has the origin of its first.
stream_pointer batched_rows(stream_pointer from, uint64_t rows, bool drop_rest,
                            operator_context context);

/// As flat_rows(); without columns of all that hold lists.
stream_pointer unbatched_rows(stream_pointer from,
                              std::vector<std::string> columns,
                              operator_context context);

} // namespace ballast::data
