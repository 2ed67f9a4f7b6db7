/// Rows on disk: the files of an operator whose rows are more than its memory.
/// An Arrow IPC stream each, written once, then read from the first row to the
/// last, and removed. Includes Arrow; for source files of data/ only.
///
/// Each has one owner; one thread at a time. A file is removed with the object
/// that owns it, whatever happens. Errors: ballast_error{disk_full} names the
/// folder and what to do, {run_dir_unusable} the file.
#pragma once

#include "data/operators/operator_context.hpp"

#include <arrow/ipc/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <filesystem>
#include <memory>

namespace ballast::data {

/// A file in context.spill that lasts as long as this.
class spill_file {
public:
  /// Of a new name; not created yet.
  explicit spill_file(const operator_context& context);
  spill_file(spill_file&& other) noexcept;
  spill_file& operator=(spill_file&& other) noexcept;
  ~spill_file();

  const std::filesystem::path& path() const { return path_; }

private:
  void remove() noexcept;
  std::filesystem::path path_; // empty: moved from
};

/// What was written.
struct spilled_rows {
  spill_file file;
  int64_t rows = 0;
  int64_t bytes = 0; // in memory
};

class spill_writer {
public:
  spill_writer(const operator_context& context,
               const std::shared_ptr<arrow::Schema>& schema);
  spill_writer(spill_writer&&) noexcept;
  ~spill_writer();

  void write(const arrow::RecordBatch& rows);
  /// The last call.
  spilled_rows finish();
  /// Where a spill_view finds what was written so far.
  const std::filesystem::path& path() const { return what_.file.path(); }

private:
  class output;
  const operator_context* context_;
  spilled_rows what_;
  std::shared_ptr<output> out_;
  std::shared_ptr<arrow::ipc::RecordBatchWriter> writer_;
};

/// A file from the first row on, by a path: whoever owns the file keeps it
/// meanwhile, and may still write to it, whole batches at a time.
class spill_view {
public:
  spill_view(const operator_context& context, std::filesystem::path path);
  spill_view(spill_view&&) noexcept;
  spill_view& operator=(spill_view&&) noexcept;
  ~spill_view();

  /// Null at the end; of a file that is being written only what is there.
  std::shared_ptr<arrow::RecordBatch> next();
  /// From the first row on again.
  void rewind();

private:
  const operator_context* context_;
  std::filesystem::path path_;
  std::shared_ptr<arrow::RecordBatchReader> reader_;
};

class spill_reader {
public:
  spill_reader(const operator_context& context, spilled_rows rows);
  spill_reader(spill_reader&&) noexcept;
  spill_reader& operator=(spill_reader&&) noexcept;
  ~spill_reader();

  /// Null at the end.
  std::shared_ptr<arrow::RecordBatch> next();
  /// From the first row on again.
  void rewind();

private:
  spilled_rows rows_;
  spill_view view_;
};

} // namespace ballast::data
