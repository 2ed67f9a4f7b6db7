/// Writes record batches as a file that any of the formats of a source reads
/// again. Includes Arrow; for source files of data/ and cli/commands/ only.
///
/// It is complete, and synced, when finish() returns. One owner, one thread.
/// Errors: ballast_error{run_dir_unusable, disk_full} with the path.
#pragma once

#include "runtime/job/job_words.hpp"

#include <arrow/type_fwd.h>

#include <filesystem>
#include <memory>
#include <string>

namespace ballast::data {

/// By the end of its name; ballast_error{usage} lists those that are written.
source_format format_of(const std::filesystem::path& path);

class record_writer {
public:
  virtual ~record_writer() = default;
  virtual void write(const std::shared_ptr<arrow::RecordBatch>& rows) = 0;
  virtual void finish() = 0;
};

/// Refuses a name of no known format, and an existing file.
void check_writable(const std::filesystem::path& path);
/// `path`: how the file is called, which says its format; `at`: where it is
/// until it is complete (partial_path.hpp).
std::unique_ptr<record_writer>
open_writer(const std::filesystem::path& path, const std::filesystem::path& at,
            const std::shared_ptr<arrow::Schema>& schema);

} // namespace ballast::data
