/// Rows of a file of JSON lines: one object in each line, blank lines allowed,
/// packed or not (gzip, zstd, bzip2, lz4: by content).
///
/// The schema is fixed before the first row: `given`, or what the job states
/// and the first 1 MiB holds. A later line that does not fit is an error with
/// its row, line and column. A key that is not in the schema is an error, too,
/// unless a schema is given or columns are chosen: then it is not read at all,
/// and only an error if every key has to be known. "NaN" is a number where all
/// others are.
///
/// One thread. Errors: ballast_error{invalid_data}; cells are only quoted in
/// the detail of a source_error.
#pragma once

#include "data/source/cell_type.hpp"
#include "data/source/record_stream.hpp"
#include "data/source/stream_file.hpp"

#include <arrow/type_fwd.h>

#include <memory>

namespace ballast::data {

/// Longer ones are refused.
constexpr int64_t json_line_max = 64 << 20;
/// Nested ones counted as well.
constexpr size_t json_columns_max = 65536;

struct jsonl_terms {
  /// Of these the values become cells: 5, "5" and true are texts that are read
  /// as the type; as text, a nested value is what stands in the file.
  stated_types stated = {};
  bool every_key = false;
  /// Rows that cannot be read become bad_rows(); of a column whose first rows
  /// differ, the type is that of most of them.
  bool tolerant = false;
  /// Then these columns have these types where they are numbers here and not in
  /// the first rows, or the reverse; they are all if no row can be read. Null:
  /// nobody knows any.
  std::shared_ptr<arrow::Schema> known = nullptr;
};

std::unique_ptr<record_stream>
open_jsonl_stream(stream_input input,
                  std::shared_ptr<arrow::Schema> given = nullptr,
                  jsonl_terms how = {});

} // namespace ballast::data
