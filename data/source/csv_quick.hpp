/// The quick parser of a block of CSV: for cells without quotes whose numbers
/// are short. It gives exactly what the careful one gives (csv_rows.hpp), or
/// gives up. Pure; any thread. Includes Arrow; for source files of data/ only.
#pragma once

#include "data/source/csv_rows.hpp"

#include <optional>

namespace ballast::data {

/// `text` with csv_block::behind bytes to read behind it, the first a line end.
/// Nothing: not as plain as that, or wrong. A null batch: there is no row.
std::optional<std::shared_ptr<arrow::RecordBatch>>
parse_quickly(const csv_format& how, std::string_view text, uint64_t rows_max);

/// The same, of the rows before the first that is not as plain as that, which
/// begins at `stop`; else that is the end.
std::optional<std::shared_ptr<arrow::RecordBatch>>
parse_quickly(const csv_format& how, std::string_view text, uint64_t rows_max,
              size_t& stop);

/// The number at the beginning of a text that can be read for 24 bytes, exactly
/// as std::from_chars reads it. False: it begins with none, or with one of too
/// many digits, or in another way of writing.
bool quick_number(const char*& at, double& out);

} // namespace ballast::data
