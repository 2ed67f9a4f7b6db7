#include "data/operators/blocking_stream.hpp"

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

blocking_stream::blocking_stream(operator_context context)
    : context_(std::move(context)) {}

void blocking_stream::set_schema(std::shared_ptr<arrow::Schema> schema) {
  schema_ = std::move(schema);
  wanted_.resize(size_t(schema_->num_fields()));
  std::iota(wanted_.begin(), wanted_.end(), 0);
}

void blocking_stream::choose(std::vector<int> columns) {
  wanted_ = std::move(columns);
}

std::shared_ptr<arrow::RecordBatch> blocking_stream::next() {
  if (!begun_) {
    begun_ = true;
    std::vector<int> columns;
    arrow::FieldVector fields;
    for (int one : wanted_) {
      places_.push_back(place_in(columns, one));
      fields.push_back(schema_->field(one));
    }
    chosen_ = arrow::schema(std::move(fields));
    begin(columns);
  }
  store::check_stop(context_.stop);
  const std::shared_ptr<arrow::RecordBatch> rows = ended_ ? nullptr : produce();
  if (rows == nullptr) {
    ended_ = true;
    return nullptr;
  }
  rows_before_ = rows_;
  rows_ += rows->num_rows();
  arrow::ArrayVector out;
  for (int place : places_)
    out.push_back(rows->column(place));
  return arrow::RecordBatch::Make(chosen_, rows->num_rows(), std::move(out));
}

std::string blocking_stream::place_of(int64_t row) const {
  return printable(context_.name) + ": row " +
         std::to_string(rows_before_ + row + 1);
}

std::vector<int> with_keys(std::vector<int> columns,
                           const std::vector<int>& keys,
                           std::vector<int>& places) {
  places.clear();
  for (int key : keys)
    places.push_back(place_in(columns, key));
  return columns;
}

} // namespace ballast::data
