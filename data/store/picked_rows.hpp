/// Single rows of several chunks, copied into one: only the chunk that a row is
/// taken from has to be in memory, however many there are.
#pragma once

#include "data/store/chunk.hpp"

#include <cstddef>
#include <memory>

namespace ballast::data {

class picked_rows {
public:
  explicit picked_rows(size_t expected) : expected_(expected) {}

  /// Precondition: row < from.rows; all chunks are of one set.
  void add(const chunk& from, uint32_t row);
  /// In the order of add(). Precondition: there is one.
  std::shared_ptr<arrow::RecordBatch> take();

private:
  void begin(const chunk& first);

  size_t expected_;
  std::shared_ptr<arrow::Schema> schema_; // of the first one
  size_t row_bytes_ = 0;                  // of the features
  chunk_columns columns_;
};

} // namespace ballast::data
