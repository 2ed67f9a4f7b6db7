/// The input of a blocking operator: the columns that it needs, of plain
/// values, in batches that are neither tiny nor large. Includes Arrow; for
/// source files of data/ only.
///
/// Owns the stream it reads; one thread. Errors: the stream's, and
/// ballast_error{stopped}.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/batch_pieces.hpp"
#include "data/source/record_stream.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class operator_input {
public:
  operator_input(std::unique_ptr<record_stream> from,
                 const operator_context& context);

  /// Without dictionaries, as all rows come.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// The index of a column; refuses a name that is not there. `what` says where
  /// the name stands: "sorts by".
  int find(const std::string& column, const std::string& what) const;
  /// The same; refuses a type that cannot be compared, too.
  int find_key(const std::string& column, const std::string& what) const;
  /// These columns, in this order; once, before the first next().
  void choose(const std::vector<int>& columns);
  /// Of the columns that were chosen.
  const std::shared_ptr<arrow::Schema>& chosen() const { return chosen_; }
  /// Null at the end. At most rows_at_once rows.
  std::shared_ptr<arrow::RecordBatch> next();

private:
  std::shared_ptr<arrow::RecordBatch> piece();
  std::shared_ptr<arrow::RecordBatch> gathered();

  std::unique_ptr<record_stream> from_;
  const operator_context context_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::Schema> chosen_;
  batch_pieces pieces_;
  std::shared_ptr<arrow::RecordBatch> large_; // is handed out in parts
  int64_t large_at_ = 0;
  // Small batches that become one.
  std::vector<std::shared_ptr<arrow::RecordBatch>> small_;
  int64_t small_rows_ = 0;
  int64_t small_bytes_ = 0;
  bool ended_ = false;
};

} // namespace ballast::data
