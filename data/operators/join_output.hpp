/// The rows of a join out of those of its sides: pairs, left rows alone, right
/// rows alone. Includes Arrow; for source files of data/ only.
///
/// Looks at the table it is given. One thread. Errors: Arrow's.
#pragma once

#include "data/operators/join_table.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

/// Which rows of a side were found; grows as it is told of rows.
using seen_rows = std::vector<bool>;

class join_output {
public:
  /// Of the columns as both sides are read.
  join_output(std::vector<joined_column> columns,
              std::shared_ptr<arrow::Schema> schema,
              const operator_context& context);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }

  std::shared_ptr<arrow::RecordBatch>
  pairs(const arrow::RecordBatch& left, std::span<const uint32_t> left_rows,
        const arrow::RecordBatch& right, std::span<const uint32_t> right_rows,
        bool some_absent) const;
  std::shared_ptr<arrow::RecordBatch>
  left_alone(const arrow::RecordBatch& left,
             std::span<const uint32_t> rows) const;
  std::shared_ptr<arrow::RecordBatch>
  right_alone(const arrow::RecordBatch& right,
              std::span<const uint32_t> rows) const;

private:
  const std::vector<joined_column> columns_;
  const std::shared_ptr<arrow::Schema> schema_;
  const operator_context& context_;
};

/// The pairs of one batch of left rows, in batches of their own.
class join_probe {
public:
  /// `alone_too`: left rows without a right one, in their place. `right_seen`
  /// null: nobody asks.
  join_probe(const join_output& output, const join_table& table, bool alone_too,
             seen_rows* right_seen);

  /// The next left rows, after the pairs of those before.
  void begin(std::shared_ptr<arrow::RecordBatch> left, const join_keys& keys);
  /// Which of them found a right row, by number.
  const key_table::numbers& found() const { return found_; }
  /// Null once their pairs are out.
  std::shared_ptr<arrow::RecordBatch> next();

private:
  void gather();
  void gather_one_each();
  bool is_room(uint32_t left, uint32_t right);

  const join_output& output_;
  const join_table& table_;
  const bool alone_too_;
  seen_rows* const right_seen_;
  const row_meter right_meter_;
  std::shared_ptr<arrow::RecordBatch> left_;
  std::optional<row_meter> left_meter_;
  key_table::numbers found_;
  uint32_t row_ = 0; // of the left, whose pairs are next
  size_t pair_ = 0;  // of that row
  // Of the batch that is gathered.
  row_indices left_rows_;
  row_indices right_rows_;
  int64_t bytes_ = 0;
  bool each_fits_ = false; // rows of such sizes: any rows_at_once of them
  bool some_absent_ = false;
};

} // namespace ballast::data
