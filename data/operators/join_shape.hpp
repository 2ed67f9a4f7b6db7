/// What a join makes of the columns of its two sides, and how their keys are
/// compared. Includes Arrow; for source files of data/ only.
///
/// Immutable once built. Errors: those of join_stream.hpp, by the constructor.
#pragma once

#include "data/operators/join_stream.hpp"
#include "data/operators/operator_input.hpp"

#include <arrow/type_fwd.h>

#include <memory>
#include <vector>

namespace ballast::data {

/// Right rows without a left one are rows of the result.
bool keeps_right(join_kind kind);
/// Left rows without a right one are.
bool keeps_left(join_kind kind);
/// Each left row is one at most, and no right column is.
bool only_left(join_kind kind);

/// A column of the result: of the left row, of the right row, or, with both,
/// of the right row where there is no left one.
struct joined_column {
  int left = -1;
  int right = -1;
  std::shared_ptr<arrow::DataType> type;
};

/// The columns by which one side is compared.
struct join_keys {
  std::vector<int> columns;
  arrow::DataTypeVector types; // as which; the same for both sides

  arrow::ArrayVector of(const arrow::RecordBatch& rows) const;
  /// The rows that can equal one of the other side: no key is null.
  std::shared_ptr<arrow::RecordBatch>
  not_null(const std::shared_ptr<arrow::RecordBatch>& rows,
           const operator_context& context) const;
};

class join_shape {
public:
  join_shape(const operator_input& left, const operator_input& right,
             const join_terms& terms, const operator_context& context);

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  const std::vector<joined_column>& columns() const { return columns_; }
  const join_keys& left_keys() const { return left_keys_; }
  const join_keys& right_keys() const { return right_keys_; }

private:
  void find_keys(const operator_input& left, const operator_input& right,
                 const join_terms& terms);
  void add_left(const operator_input& left, const operator_input& right,
                const join_terms& terms);
  void add_right(const operator_input& left, const operator_input& right,
                 const join_terms& terms);
  /// Behind which key of the right there is a left one of the same name.
  int shared_key(int left_column, const operator_input& left,
                 const operator_input& right) const;
  void refuse(const std::string& what) const;

  const operator_context& context_;
  join_keys left_keys_;
  join_keys right_keys_;
  std::vector<joined_column> columns_;
  arrow::FieldVector fields_;
  std::shared_ptr<arrow::Schema> schema_;
};

/// As another type, which can hold its values.
std::shared_ptr<arrow::Array>
as_type(const std::shared_ptr<arrow::Array>& column,
        const std::shared_ptr<arrow::DataType>& type);

} // namespace ballast::data
