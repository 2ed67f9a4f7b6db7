/// Rows as JSON, an object for each. Includes Arrow; for source files of data/
/// and cli/commands/ only. Pure function.
#pragma once

#include <arrow/type_fwd.h>

#include <string>

namespace ballast::data {

/// A line for each row; a missing value is null, what JSON has no number for is
/// text, and so are times; lists and structs are arrays and objects.
std::string json_lines_of(const arrow::RecordBatch& rows);

} // namespace ballast::data
