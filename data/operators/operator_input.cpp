#include "data/operators/operator_input.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/key_column.hpp"
#include "data/operators/row_batches.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

// Each batch costs some hundred bytes and nanoseconds a column beside its rows.
constexpr int64_t small_rows = 512;
constexpr size_t small_batches_max = 128;
constexpr int64_t gathered_rows = 8192;
constexpr int64_t gathered_bytes = 64 << 10;

} // namespace

operator_input::operator_input(std::unique_ptr<record_stream> from,
                               const operator_context& context)
    : from_(std::move(from)), context_(context),
      schema_(plain_schema(from_->schema())), chosen_(schema_),
      pieces_(std::min(piece_bytes_max, memory_of(context) / 8)) {}

int operator_input::find(const std::string& column,
                         const std::string& what) const {
  const int found = schema_->GetFieldIndex(column);
  if (found >= 0 && column != origin_column)
    return found;
  std::vector<std::string> names;
  for (const std::string& name : schema_->field_names())
    if (name != origin_column)
      names.push_back(name);
  const std::string near = nearest_word(column, names);
  std::string all;
  for (const std::string& name : names)
    all += (all.empty() ? "'" : ", '") + printable(name, 64) + "'";
  throw source_error(
      context_.pointer + ": " + printable(context_.name) + " " + what +
          " the column '" + printable(column) + "', which its input lacks" +
          (near.empty() ? std::string()
                        : "; did you mean '" + printable(near) + "'?"),
      context_.pointer, "its columns are " + printable(all, 1000));
}

int operator_input::find_key(const std::string& column,
                             const std::string& what) const {
  const int found = find(column, what);
  const arrow::DataType& type = *schema_->field(found)->type();
  if (!is_key_type(type))
    throw source_error(context_.pointer + ": " + printable(context_.name) +
                           " " + what + " the column '" + printable(column) +
                           "', whose type is " +
                           printable(type.ToString(), 200) +
                           "; expected numbers, text, dates or times",
                       context_.pointer, "");
  return found;
}

void operator_input::choose(const std::vector<int>& columns) {
  arrow::FieldVector fields;
  for (int column : columns)
    fields.push_back(schema_->field(column));
  chosen_ = arrow::schema(std::move(fields));
  from_->choose(columns);
}

std::shared_ptr<arrow::RecordBatch> operator_input::piece() {
  if (large_ == nullptr) {
    store::check_stop(context_.stop);
    const std::shared_ptr<arrow::RecordBatch> batch =
        take_arrow(pieces_.next([this] { return from_->next(); }),
                   errc::invalid_data, printable(context_.name));
    if (batch == nullptr)
      return nullptr;
    // What comes may say other things of its columns than schema() did.
    large_ =
        arrow::RecordBatch::Make(chosen_, batch->num_rows(), batch->columns());
    large_at_ = 0;
  }
  const int64_t rows = std::min(rows_at_once, large_->num_rows() - large_at_);
  std::shared_ptr<arrow::RecordBatch> out = large_->Slice(large_at_, rows);
  large_at_ += rows;
  if (large_at_ == large_->num_rows())
    large_ = nullptr;
  return out;
}

std::shared_ptr<arrow::RecordBatch> operator_input::gathered() {
  small_rows_ = 0;
  small_bytes_ = 0;
  return together(chosen_, std::exchange(small_, {}), context_);
}

std::shared_ptr<arrow::RecordBatch> operator_input::next() {
  while (!ended_) {
    std::shared_ptr<arrow::RecordBatch> batch = piece();
    if (batch == nullptr) {
      ended_ = true;
      break;
    }
    const int64_t bytes = bytes_of(*batch);
    if (small_.empty() &&
        (batch->num_rows() >= small_rows || bytes >= gathered_bytes))
      return batch;
    small_rows_ += batch->num_rows();
    small_bytes_ += bytes;
    small_.push_back(std::move(batch));
    if (small_rows_ >= gathered_rows || small_bytes_ >= gathered_bytes ||
        small_.size() >= small_batches_max)
      return gathered();
  }
  return small_.empty() ? nullptr : gathered();
}

} // namespace ballast::data
