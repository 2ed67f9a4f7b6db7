/// What PostgreSQL sends for COPY ... TO STDOUT (FORMAT binary), as columns of
/// Arrow: bytes go in as they come, batches come out. A row may be split
/// anywhere. Includes Arrow; for source files of data/ only. Pure; one thread.
///
/// The columns are those that the driver of ADBC makes of the same answer, bit
/// for bit: an infinite date and time is the number into which it runs over.
///
/// Bytes that are no such answer are an adbc_failure that says what was wrong
/// and in which column; no value is in it.
#pragma once

#include "data/source/copied_column.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

class copied_rows {
public:
  /// That there is a decoder for each column.
  static bool can_read(const arrow::Schema& schema);

  /// A batch is full once its rows came in `batch_bytes` bytes, or would take
  /// as many if they were without nulls.
  copied_rows(std::shared_ptr<arrow::Schema> schema, int64_t batch_bytes);

  /// Takes these bytes, or those up to the row that makes the batch full; how
  /// many that were.
  size_t add(std::string_view bytes);
  bool full() const { return rows_ == rows_max_ || bytes_ >= batch_bytes_; }
  /// The rows so far; null if there are none. The next batch begins.
  std::shared_ptr<arrow::RecordBatch> take();
  /// Once there are no more bytes: that the answer is complete.
  void check_end() const;

private:
  enum class state : uint8_t { header, rows, ended };

  size_t decode(const char* at, size_t size);
  size_t decode_header(const char* at, size_t size);
  size_t decode_row(const char* at, size_t size);
  bool whole(const char* at, size_t size);
  size_t wait_for(size_t size);

  const std::shared_ptr<arrow::Schema> schema_;
  const int64_t batch_bytes_;
  int64_t rows_max_ = 1;
  std::vector<copied_column> columns_;
  state state_ = state::header;
  int64_t rows_ = 0;
  int64_t bytes_ = 0;   // in which these rows came
  std::string carried_; // the beginning of a row, or of the header,
  size_t wanted_ = 0;   // which has so many bytes at least
};

} // namespace ballast::data
