/// The right side of a join in memory, found by its keys. Includes Arrow; for
/// source files of data/ only.
///
/// Filled once, then only read, but for the marks of rows that were found. One
/// thread. Errors: Arrow's.
#pragma once

#include "data/operators/join_shape.hpp"
#include "data/operators/key_table.hpp"
#include "data/operators/row_batches.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

class join_table {
public:
  join_table(std::shared_ptr<arrow::Schema> schema, join_keys keys,
             const operator_context& context, int64_t memory);

  /// False, and not taken: they would be too many. The first rows always fit.
  bool add(const std::shared_ptr<arrow::RecordBatch>& rows);
  /// The rows as they came, to be put elsewhere.
  std::vector<std::shared_ptr<arrow::RecordBatch>> take();
  /// After the last add().
  void finish();

  const std::shared_ptr<arrow::RecordBatch>& rows() const { return rows_; }
  /// The number of each row's key, key_table::absent where nothing equals it.
  void find(const equal_keys& keys, key_table::numbers& out) const;
  /// No key has two rows.
  bool one_each() const { return begin_.empty(); }
  /// Where that is so: the row of a key.
  uint32_t row_with(uint32_t number) const {
    return as_numbered_ ? number : rows_of_[number];
  }
  /// The rows with a key, ascending.
  std::span<const uint32_t> rows_with(uint32_t number) const {
    if (one_each())
      return {&rows_of_[number], 1};
    return {rows_of_.data() + begin_[number],
            begin_[number + 1] - begin_[number]};
  }

private:
  void group(const key_table::numbers& number_of);

  const std::shared_ptr<arrow::Schema> schema_;
  const join_keys keys_;
  const operator_context& context_;
  const int64_t memory_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> held_;
  int64_t count_ = 0;
  batch_bytes bytes_;
  std::shared_ptr<arrow::RecordBatch> rows_;
  std::optional<key_table> table_;
  row_indices rows_of_;         // by key
  std::vector<uint32_t> begin_; // of each key's rows; empty: each has one
  bool as_numbered_ = false;    // and it has the key's number
};

} // namespace ballast::data
