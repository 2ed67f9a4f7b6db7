/// Keeps the first row of each that are equal in some columns, in the order of
/// the input. Null equals null, NaN equals NaN, -0.0 equals 0.0. Includes
/// Arrow; for source files of data/ only.
///
/// Holds the keys that it has seen, and hands out rows at once. Where the keys
/// are more than fit into memory, the rows whose key is in doubt go to files by
/// the hash of their key, each of which is done for itself, and their first
/// rows are merged. One owner, one thread. Errors: source_error for a column
/// that is not there or cannot be compared, before a row is read; else those of
/// spill_file.hpp.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// `on` empty: all columns but the origin.
std::unique_ptr<record_stream>
distinct_rows(std::unique_ptr<record_stream> from, std::vector<std::string> on,
              operator_context context);

} // namespace ballast::data
