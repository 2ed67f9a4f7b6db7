/// Rows that are held in memory until they are too many, then put into an
/// order. Includes Arrow; for source files of data/ only.
///
/// One owner, one thread. Errors: Arrow's.
#pragma once

#include "data/operators/row_batches.hpp"
#include "data/operators/sorted_runs.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace ballast::data {

/// A batch, and the order in which its rows are to come.
class ordered_rows {
public:
  ordered_rows() = default;
  ordered_rows(std::shared_ptr<arrow::RecordBatch> rows, row_indices order,
               const operator_context& context)
      : rows_(std::move(rows)), order_(std::move(order)), context_(&context) {}

  const std::shared_ptr<arrow::RecordBatch>& rows() const { return rows_; }
  const row_indices& order() const { return order_; }
  /// The next of them, as a batch of its own; null at the end, which frees all.
  std::shared_ptr<arrow::RecordBatch> next();

private:
  std::shared_ptr<arrow::RecordBatch> rows_;
  row_indices order_;
  const operator_context* context_ = nullptr;
  size_t at_ = 0;
};

class held_rows {
public:
  /// `keys`: how many columns they will be ordered by.
  held_rows(std::shared_ptr<arrow::Schema> schema,
            const operator_context& context, size_t keys);

  /// With these rows more, ordering them would take more than the memory.
  bool would_be_too_many(const arrow::RecordBatch& rows) const;
  void add(std::shared_ptr<arrow::RecordBatch> rows);
  /// The rows as they came.
  std::vector<std::shared_ptr<arrow::RecordBatch>> take();
  /// All in order; holds none afterwards.
  ordered_rows in_order(const row_ordering& ordering);

private:
  const std::shared_ptr<arrow::Schema> schema_;
  const operator_context& context_;
  const int64_t bytes_to_order_; // of a row
  std::vector<std::shared_ptr<arrow::RecordBatch>> held_;
  int64_t rows_ = 0;
  batch_bytes bytes_;
};

} // namespace ballast::data
