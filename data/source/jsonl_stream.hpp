/// Rows of a file of JSON lines: one object in each line, blank lines allowed,
/// packed or not (gzip, zstd, bzip2, lz4: by content).
///
/// The schema is fixed before the first row: `given`, or what the first 1 MiB
/// holds. A later line that does not fit is an error with its row, line and
/// column. Keys that are not in the schema are an error, too, unless a schema
/// is given or columns are chosen: then they are not read at all.
///
/// One thread. Errors: ballast_error{invalid_data}; cells are only quoted in
/// the detail of a source_error.
#pragma once

#include "data/source/record_stream.hpp"
#include "data/source/stream_file.hpp"

#include <memory>

namespace ballast::data {

/// Longer ones are refused.
constexpr int64_t json_line_max = 64 << 20;
/// Nested ones counted as well.
constexpr size_t json_columns_max = 65536;

std::unique_ptr<record_stream>
open_jsonl_stream(stream_input input,
                  std::shared_ptr<arrow::Schema> given = nullptr);

} // namespace ballast::data
