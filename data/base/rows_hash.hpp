/// A hash of rows that hangs on their values and their order alone: not on the
/// batches they came in, nor on what lies below a missing value. Says whether a
/// server that keeps no versions still sends what it sent before. Includes
/// Arrow; for source files of data/ only.
///
/// One owner; not thread-safe. Every batch must have the same columns, of plain
/// types: no dictionaries (batch_pieces makes them so).
#pragma once

#include "data/base/content_hash.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace ballast::data {

/// False: a type (unions, views of lists, run ends) that rows_hash has no rule
/// for.
bool can_be_hashed(const arrow::DataType& type);

class rows_hash {
public:
  rows_hash();
  ~rows_hash();
  rows_hash(rows_hash&&) noexcept;
  rows_hash& operator=(rows_hash&&) noexcept;

  void update(const arrow::RecordBatch& batch);
  int64_t rows() const { return rows_; }
  /// Of all rows so far; more may follow.
  uint64_t digest() const;

private:
  struct column;
  std::vector<std::unique_ptr<column>> columns_;
  int64_t rows_ = 0;
};

} // namespace ballast::data
