/// A text such as `amount > 0 and lower(city) in ('berlin', 'rome')`, for a
/// job's `where` and `derive`: parsed first, bound to a schema before any row
/// is read, then computed for record batches with Arrow's compute functions.
///
/// Where it differs from SQL: `/` is always float64 (`div(a, b)` divides
/// integers), and floats follow IEEE, so that 1 / 0 is infinite and 0 / 0 is
/// NaN. Arithmetic is int64 (uint64 between unsigned columns) or float64;
/// an integer that overflows or is divided by zero is an error, not a wrap. A
/// number that stands alone takes the type of the column it meets. Nothing else
/// is cast unless the text says so, above all no text to a number. A literal
/// time without a zone that meets a column with one is UTC. `if` takes its
/// second value where the condition is null; `round` rounds halves away from 0.
///
/// Values: an expression is immutable and may be shared by threads. A bound
/// one is used by one thread at a time, because Arrow's kernels may keep state.
/// Errors of the text are ballast_error{invalid_job} with its column and a
/// line that points at it; a column that the data lack, or a row that has no
/// result, is a source_error{invalid_data}.
#pragma once

#include <arrow/compute/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// The longest accepted text.
constexpr size_t expression_bytes_max = size_t{64} << 10;
/// How deep parentheses, calls, `not` and minus signs may nest.
constexpr size_t expression_depth_max = 100;
/// The height of the tree, which chains such as a + b + c make higher, too
/// (but not those of `and` and `or`).
constexpr size_t expression_height_max = 500;
/// The values of one `in`.
constexpr size_t expression_list_max = 10'000;

struct expression_node;
struct expression_source;

/// What a batch keeps of a condition.
struct selected_rows {
  std::shared_ptr<arrow::RecordBatch> batch;
  /// Their numbers in the batch that came in, ascending.
  std::vector<int64_t> rows;
};

/// A row of a batch that has no result, and why.
struct failing_row {
  int64_t row = 0;
  std::string reason;
};

class bound_expression {
public:
  /// How a user finds row `row` of a batch: "people.csv: row 12 (line 14)".
  using place_of_row = std::function<std::string(int64_t row)>;

  const std::shared_ptr<arrow::DataType>& type() const;
  /// One value for each row, of any batch whose columns are those of the schema
  /// it is bound to. Throws source_error that names the first row without a
  /// result, by `place` if there is one.
  std::shared_ptr<arrow::Array> evaluate(const arrow::RecordBatch& batch,
                                         const place_of_row& place = {}) const;
  /// All rows without a result, in order; none where evaluate() throws nothing.
  std::vector<failing_row> failing(const arrow::RecordBatch& batch) const;
  /// The rows for which a condition is true; null counts as false.
  selected_rows select(const std::shared_ptr<arrow::RecordBatch>& batch,
                       const place_of_row& place = {}) const;
  /// Bound; names the columns, so that a scanner can use it to skip row groups.
  const arrow::compute::Expression& arrow_expression() const;

private:
  friend class expression;
  struct parts;
  explicit bound_expression(std::shared_ptr<const parts> p)
      : parts_(std::move(p)) {}
  [[noreturn]] void refuse_row(const arrow::RecordBatch& batch,
                               const place_of_row& place) const;

  std::shared_ptr<const parts> parts_;
};

class expression {
public:
  /// The columns that it reads, each once, in the order of the text.
  std::vector<std::string> columns() const;
  /// Finds columns and functions and checks types; a schema needs no data.
  bound_expression bind(const std::shared_ptr<arrow::Schema>& schema) const;
  /// The same for a `where`: refuses what is neither true nor false.
  bound_expression
  bind_condition(const std::shared_ptr<arrow::Schema>& schema) const;
  /// In a canonical form, which parses to an equal expression.
  std::string text() const;
  bool operator==(const expression& other) const;

private:
  friend expression parse(std::string_view text, const std::string& pointer);
  expression(std::shared_ptr<const expression_source> source,
             std::shared_ptr<const expression_node> root)
      : source_(std::move(source)), root_(std::move(root)) {}

  std::shared_ptr<const expression_source> source_;
  std::shared_ptr<const expression_node> root_;
};

/// `pointer` is the JSON pointer of the job's field that holds the text.
expression parse(std::string_view text, const std::string& pointer);

} // namespace ballast::data
