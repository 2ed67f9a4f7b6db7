/// A file as a row, with its name and size: what the source format `list_files`
/// gives for each of its files, none of which it opens. Includes Arrow; for
/// source files of data/ only.
///
/// One owner, one thread, as every stream. No errors.
#pragma once

#include "data/source/file_system.hpp"
#include "data/source/record_stream.hpp"

#include <memory>

namespace ballast::data {

/// One row: `path` (text), `bytes` (int64).
std::unique_ptr<record_stream> open_file_name(const stored_file& file);

} // namespace ballast::data
