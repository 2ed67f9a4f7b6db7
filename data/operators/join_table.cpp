#include "data/operators/join_table.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace ballast::data {

namespace {

// Of a row: its slots in the table, when it has just grown, its key's number
// and its place.
constexpr int64_t bytes_to_find = 56;

/// Their rows have no number, or none that counts: null equals nothing.
void forget_nulls(const equal_keys& keys, key_table::numbers& numbers) {
  if (!keys.has_nulls())
    return;
  for (uint32_t row = 0; row < keys.rows(); ++row)
    if (keys.has_null(row))
      numbers[row] = key_table::absent;
}

} // namespace

join_table::join_table(std::shared_ptr<arrow::Schema> schema, join_keys keys,
                       const operator_context& context, int64_t memory)
    : schema_(std::move(schema)), keys_(std::move(keys)), context_(context),
      memory_(memory) {}

bool join_table::add(const std::shared_ptr<arrow::RecordBatch>& rows) {
  batch_bytes bytes = bytes_of_columns(*rows);
  bytes.all += bytes_.all;
  bytes.largest += bytes_.largest;
  for (int key : keys_.columns) // texts are in the table once more
    if (!arrow::is_fixed_width(rows->column(key)->type_id()))
      bytes.all += bytes_of(
          *arrow::RecordBatch::Make(arrow::schema({schema_->field(key)}),
                                    rows->num_rows(), {rows->column(key)}));
  const int64_t count = count_ + rows->num_rows();
  // First columns are joined, then keys are put into the table.
  const int64_t beside = std::max(bytes.largest, count * bytes_to_find);
  if (count_ > 0 && (bytes.all > batch_bytes_max || count > INT32_MAX ||
                     bytes.all + beside > memory_))
    return false;
  held_.push_back(rows);
  count_ = count;
  bytes_ = bytes;
  return true;
}

std::vector<std::shared_ptr<arrow::RecordBatch>> join_table::take() {
  count_ = 0;
  bytes_ = {};
  return std::exchange(held_, {});
}

void join_table::finish() {
  rows_ = together(schema_, take(), context_);
  key_table::numbers number_of;
  number_of.reserve(size_t(rows_->num_rows()));
  key_table::numbers some;
  row_indices refused;
  for (int64_t first = 0; first < rows_->num_rows(); first += rows_at_once) {
    store::check_stop(context_.stop);
    const arrow::ArrayVector columns =
        keys_.of(*rows_->Slice(first, rows_at_once));
    if (!table_)
      table_.emplace(equal_keys::are_words(columns), true,
                     std::numeric_limits<int64_t>::max() / 2);
    const equal_keys keys(columns);
    table_->add_numbered(keys, some, refused);
    forget_nulls(keys, some);
    number_of.insert(number_of.end(), some.begin(), some.end());
  }
  if (table_)
    group(number_of);
}

/// By counting, so that the rows of a key stay in order.
void join_table::group(const key_table::numbers& number_of) {
  begin_.assign(size_t(table_->count()) + 1, 0);
  bool unique = true;
  for (const uint32_t number : number_of)
    if (number != key_table::absent)
      unique = ++begin_[number + 1] == 1 && unique;
  for (size_t i = 1; i < begin_.size(); ++i) {
    unique = unique && begin_[i] == 1; // a key of nulls has no row
    begin_[i] += begin_[i - 1];
  }
  rows_of_.resize(begin_.back());
  std::vector<uint32_t> at(begin_.begin(), begin_.end() - 1);
  for (uint32_t row = 0; row < number_of.size(); ++row)
    if (number_of[row] != key_table::absent)
      rows_of_[at[number_of[row]]++] = row;
  if (unique)
    std::vector<uint32_t>().swap(begin_);
  as_numbered_ = unique && rows_of_.size() == number_of.size();
}

void join_table::find(const equal_keys& keys, key_table::numbers& out) const {
  if (!table_) {
    out.assign(keys.rows(), key_table::absent);
    return;
  }
  table_->find(keys, out);
  forget_nulls(keys, out);
}

} // namespace ballast::data
