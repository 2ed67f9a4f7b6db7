#include "data/expression/expression.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/failing_parts.hpp"
#include "data/expression/binding.hpp"
#include "data/expression/parser.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/compute/expression.h>

#include <algorithm>
#include <set>

namespace ballast::data {

struct bound_expression::parts {
  std::string text;
  std::string pointer;
  std::shared_ptr<arrow::Schema> schema;
  arrow::compute::Expression expression; // bound
  std::shared_ptr<arrow::DataType> type;
};

namespace {

void collect_columns(const expression_node& node, std::set<std::string>& seen,
                     std::vector<std::string>& out) {
  if (node.kind == node_kind::column && seen.insert(node.name).second)
    out.push_back(node.name);
  for (const node_pointer& child : node.children)
    collect_columns(*child, seen, out);
}

[[noreturn]] void refuse_condition(const std::string& text,
                                   const std::string& pointer,
                                   const arrow::DataType& type) {
  throw ballast_error(errc::invalid_job,
                      "a condition is true or false, and \"" +
                          printable(text, 60) + "\" is " + name_of(type) +
                          "; compare it with a value, as in amount > 0",
                      pointer);
}

/// What Arrow's message means, without the data that it quotes.
std::string reason_of(const arrow::Status& status) {
  const std::string& message = status.message();
  const auto says = [&](const char* word) {
    return message.find(word) != std::string::npos;
  };
  if (says("divide by zero"))
    return "a number is divided by zero; exclude the row with \"where\", or "
           "divide with /, which gives inf or nan";
  if (says("overflow"))
    return "an integer grows beyond its type; compute with "
           "cast(... as float64)";
  if (says("parse"))
    return "a text is not what it is cast to; exclude the row with \"where\" "
           "or correct the text";
  if (says("truncated"))
    return "a cast to int64 would drop a fraction; write "
           "cast(round(...) as int64) or cast(trunc(...) as int64)";
  if (says("out of bounds") || says("not in range"))
    return "a number is beyond the type that it is cast to";
  return "a value is not allowed here";
}

arrow::Result<std::shared_ptr<arrow::Array>>
compute_batch(const arrow::compute::Expression& expression,
              const arrow::RecordBatch& batch) {
  ARROW_ASSIGN_OR_RAISE(const arrow::Datum out,
                        arrow::compute::ExecuteScalarExpression(
                            expression, arrow::compute::ExecBatch(batch)));
  if (out.is_scalar())
    return arrow::MakeArrayFromScalar(*out.scalar(), batch.num_rows());
  if (out.is_chunked_array())
    return arrow::Concatenate(out.chunked_array()->chunks());
  return out.make_array();
}

} // namespace

expression parse(std::string_view text, const std::string& pointer) {
  auto source = std::make_shared<const expression_source>(
      expression_source{std::string(text), pointer});
  auto root = parse_tree(*source);
  return {std::move(source), std::move(root)};
}

std::vector<std::string> expression::columns() const {
  std::set<std::string> seen;
  std::vector<std::string> out;
  collect_columns(*root_, seen, out);
  return out;
}

std::string expression::text() const {
  return print_expression(*root_);
}

bool expression::operator==(const expression& other) const {
  return same_meaning(*root_, *other.root_);
}

bound_expression
expression::bind(const std::shared_ptr<arrow::Schema>& schema) const {
  prepare_functions();
  auto out = std::make_shared<bound_expression::parts>();
  out->text = source_->text;
  out->pointer = source_->pointer;
  out->schema = schema;
  expression_binder binder(*source_, *schema);
  const typed_expression whole = binder.bind(*root_);
  auto made = whole.expression.Bind(*schema);
  if (!made.ok())
    binder.refuse(*root_, printable(made.status().message(), 200));
  out->expression = std::move(made).ValueUnsafe();
  out->type = out->expression.type()->GetSharedPtr();
  bound_expression bound(std::move(out));
  // Constants are computed here, so that their mistakes are found without data.
  if (const auto nothing = arrow::RecordBatch::MakeEmpty(schema); nothing.ok())
    bound.evaluate(**nothing);
  return bound;
}

bound_expression
expression::bind_condition(const std::shared_ptr<arrow::Schema>& schema) const {
  bound_expression out = bind(schema);
  if (out.type()->id() != arrow::Type::BOOL)
    refuse_condition(source_->text, source_->pointer, *out.type());
  return out;
}

const std::shared_ptr<arrow::DataType>& bound_expression::type() const {
  return parts_->type;
}

const arrow::compute::Expression& bound_expression::arrow_expression() const {
  return parts_->expression;
}

std::shared_ptr<arrow::Array>
bound_expression::evaluate(const arrow::RecordBatch& batch,
                           const place_of_row& place) const {
  BALLAST_CHECK(batch.schema()->Equals(*parts_->schema, false),
                "a batch of another schema than that of its expression");
  auto out = compute_batch(parts_->expression, batch);
  if (!out.ok())
    refuse_row(batch, place);
  return std::move(out).ValueUnsafe();
}

void bound_expression::refuse_row(const arrow::RecordBatch& batch,
                                  const place_of_row& place) const {
  // Halves until one row is left; the first half that fails has the first.
  int64_t from = 0;
  int64_t count = batch.num_rows();
  arrow::Status status;
  const auto fails = [&](int64_t rows) {
    const auto out =
        compute_batch(parts_->expression, *batch.Slice(from, rows));
    if (!out.ok())
      status = out.status();
    return !out.ok();
  };
  while (count > 1) {
    const int64_t half = count / 2;
    if (fails(half)) {
      count = half;
    } else {
      from += half;
      count -= half;
    }
  }
  fails(count);
  const std::string shown = "\"" + printable(parts_->text, 60) + "\"";
  if (batch.num_rows() == 0)
    throw ballast_error(errc::invalid_job,
                        shown +
                            " has no value for any row: " + reason_of(status) +
                            " (" + printable(status.message(), 200) + ")",
                        parts_->pointer);
  throw source_error((place ? place(from) : "row " + std::to_string(from + 1)) +
                         ": " + shown + " has no value: " + reason_of(status),
                     parts_->pointer, printable(status.message(), 200));
}

std::vector<failing_row>
bound_expression::failing(const arrow::RecordBatch& batch) const {
  const std::string shown = "\"" + printable(parts_->text, 60) + "\"";
  std::vector<failing_row> out;
  arrow::Status said;
  each_failing(
      batch.num_rows(),
      [&](int64_t first, int64_t count) {
        said = compute_batch(parts_->expression, *batch.Slice(first, count))
                   .status();
        return said.ok();
      },
      [&](int64_t row) {
        out.push_back({row, shown + " has no value: " + reason_of(said)});
      });
  return out;
}

selected_rows
bound_expression::select(const std::shared_ptr<arrow::RecordBatch>& batch,
                         const place_of_row& place) const {
  if (parts_->type->id() != arrow::Type::BOOL)
    refuse_condition(parts_->text, parts_->pointer, *parts_->type);
  const std::shared_ptr<arrow::Array> found = evaluate(*batch, place);
  const auto& truth = static_cast<const arrow::BooleanArray&>(*found);
  selected_rows out;
  for (int64_t row = 0; row < truth.length(); ++row)
    if (truth.IsValid(row) && truth.Value(row))
      out.rows.push_back(row);
  if (int64_t(out.rows.size()) == batch->num_rows()) {
    out.batch = batch;
    return out;
  }
  const auto kept = take_arrow(
      arrow::compute::Filter(arrow::Datum(batch), arrow::Datum(found)),
      errc::internal, "the rows of \"" + printable(parts_->text, 60) + "\"");
  out.batch = kept.record_batch();
  return out;
}

} // namespace ballast::data
