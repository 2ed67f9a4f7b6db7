/// A remote file of which a request costs more than some megabytes. Small reads
/// that follow each other are served from one window, which grows from 256 KiB
/// to 8 MiB, while the next window is already on its way; a read elsewhere
/// begins with a small one, and one near the end of the file with its last
/// 64 KiB, where Parquet and ORC have their footers. Larger reads, and what
/// Parquet asks for by ReadAsync, go through in pieces side by side; what a
/// reader says by WillNeed that it reads next is on its way meanwhile. Includes
/// Arrow; for source files of data/ only.
///
/// In memory are at most two windows, what WillNeed named last, or all of a
/// file that is fetched as a whole. Any thread; reads through the window take
/// turns. Errors: Arrow's, with a read_failure that names the file.
#pragma once

#include "runtime/base/errors.hpp"

#include <arrow/io/interfaces.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace ballast::data {

/// How a file is fetched.
enum class fetching : uint8_t {
  parts, // as it is read
  whole, // all of it at once, beginning now
};

/// `explain` makes of Arrow's error what a user is to see.
std::shared_ptr<arrow::io::RandomAccessFile>
read_ahead(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size,
           std::function<failure(const arrow::Status&)> explain,
           fetching how = fetching::parts);

} // namespace ballast::data
