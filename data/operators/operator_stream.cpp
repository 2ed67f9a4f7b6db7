#include "data/operators/operator_stream.hpp"

#include "data/source/column_choice.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace ballast::data {

namespace {

/// Where `column` is in `columns`, at the end if it was not there.
int place_in(std::vector<int>& columns, int column) {
  const auto found = std::find(columns.begin(), columns.end(), column);
  const int place = int(found - columns.begin());
  if (found == columns.end())
    columns.push_back(column);
  return place;
}

} // namespace

operator_stream::operator_stream(operator_context context)
    : context_(std::move(context)) {}

void operator_stream::set_schema(std::shared_ptr<arrow::Schema> schema) {
  BALLAST_CHECK(schema->num_fields() > 0 &&
                    schema->fields().back()->name() == origin_column,
                "a stream of a graph ends with the origin");
  schema_ = std::move(schema);
  wanted_.resize(size_t(schema_->num_fields()));
  std::iota(wanted_.begin(), wanted_.end(), 0);
}

void operator_stream::choose(std::vector<int> columns) {
  BALLAST_CHECK(!begun_, "columns are chosen once");
  wanted_ = std::move(columns);
  begin_once();
}

void operator_stream::begin_once() {
  if (std::exchange(begun_, true))
    return;
  std::vector<int> columns;
  arrow::FieldVector fields;
  for (int one : wanted_) {
    places_.push_back(place_in(columns, one));
    fields.push_back(schema_->field(one));
  }
  origin_place_ = place_in(columns, schema_->num_fields() - 1);
  chosen_ = arrow::schema(std::move(fields));
  begin(columns);
}

std::shared_ptr<arrow::RecordBatch> operator_stream::next() {
  begin_once();
  store::check_stop(context_.stop);
  const std::shared_ptr<arrow::RecordBatch> rows = ended_ ? nullptr : produce();
  if (rows == nullptr) {
    ended_ = true;
    if (context_.given != nullptr)
      context_.given->ended = true;
    return nullptr;
  }
  if (context_.given != nullptr)
    context_.given->rows += uint64_t(rows->num_rows());
  rows_before_ = rows_;
  rows_ += rows->num_rows();
  origins_ = rows->column(origin_place_);
  arrow::ArrayVector out;
  for (int place : places_)
    out.push_back(rows->column(place));
  return arrow::RecordBatch::Make(chosen_, rows->num_rows(), std::move(out));
}

std::string operator_stream::place_of(int64_t row) const {
  if (context_.origins == nullptr)
    return printable(context_.name) + ": row " +
           std::to_string(rows_before_ + row + 1);
  return context_.origins->place_of(
      static_cast<const arrow::UInt64Array&>(*origins_).Value(row));
}

std::vector<int> with_keys(std::vector<int> columns,
                           const std::vector<int>& keys,
                           std::vector<int>& places) {
  places.clear();
  for (int key : keys)
    places.push_back(place_in(columns, key));
  return columns;
}

std::shared_ptr<arrow::Schema> without_origin(const arrow::Schema& schema) {
  arrow::FieldVector fields = schema.fields();
  std::erase_if(
      fields, [](const auto& field) { return field->name() == origin_column; });
  return arrow::schema(std::move(fields));
}

int find_column(const arrow::Schema& schema, const std::string& column,
                const std::string& pointer) {
  std::vector<std::string> names;
  for (const auto& field : schema.fields())
    if (field->name() != origin_column)
      names.push_back(field->name());
  const auto found = std::find(names.begin(), names.end(), column);
  if (found != names.end())
    return int(found - names.begin());
  const std::string near = nearest_word(column, names);
  throw ballast_error(
      errc::invalid_data,
      pointer + ": there is no column '" + printable(column) + "'" +
          (near.empty() ? "; the columns are " + list_of(names)
                        : "; did you mean '" + printable(near) + "'?"),
      pointer);
}

} // namespace ballast::data
