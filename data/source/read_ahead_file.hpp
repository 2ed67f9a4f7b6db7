/// A remote file of which a request costs more than some megabytes. Small reads
/// that follow each other are served from one window, which grows from 256 KiB
/// to 8 MiB, while the next window is already on its way; a read elsewhere
/// begins with a small one. Reads of 4 MiB and more, and ReadAsync (by which
/// Parquet asks for ranges that it has gathered itself), go through as they
/// are. Includes Arrow; for source files of data/ only.
///
/// At most two windows in memory. Any thread; reads through the window take
/// turns. Errors: Arrow's, with a read_failure that names the file.
#pragma once

#include "runtime/base/errors.hpp"

#include <arrow/io/interfaces.h>

#include <functional>
#include <memory>

namespace ballast::data {

/// `explain` makes of Arrow's error what a user is to see.
std::shared_ptr<arrow::io::RandomAccessFile>
read_ahead(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size,
           std::function<failure(const arrow::Status&)> explain);

} // namespace ballast::data
