/// Cuts batches that are too large for one step into slices of their rows,
/// without a copy, and counts the rows. Includes Arrow; for source files of
/// data/ only. One owner, one thread.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <deque>
#include <memory>

namespace ballast::data {

class batch_slices {
public:
  explicit batch_slices(int64_t bytes_max) : bytes_max_(bytes_max) {}

  /// Once next() has returned null. An empty batch leaves nothing.
  void add(const std::shared_ptr<arrow::RecordBatch>& rows);
  /// Null when another batch is to be added.
  std::shared_ptr<arrow::RecordBatch> next();
  /// Rows before the first one of what next() returned last.
  int64_t rows_before() const { return before_; }
  /// Rows up to and with what next() returned last.
  int64_t rows() const { return rows_; }

private:
  void cut(const std::shared_ptr<arrow::RecordBatch>& rows);

  const int64_t bytes_max_;
  std::deque<std::shared_ptr<arrow::RecordBatch>> slices_;
  int64_t before_ = 0;
  int64_t rows_ = 0;
};

} // namespace ballast::data
