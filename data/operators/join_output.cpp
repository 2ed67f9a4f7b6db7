#include "data/operators/join_output.hpp"

#include "data/base/arrow_support.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

constexpr uint32_t absent = key_table::absent;

bool is_every_row(std::span<const uint32_t> rows, int64_t count) {
  if (int64_t(rows.size()) != count)
    return false;
  for (uint32_t i = 0; i < rows.size(); ++i)
    if (rows[i] != i)
      return false;
  return true;
}

/// Indices as Arrow takes them: an absent row is null.
std::shared_ptr<arrow::Array> indices_of(std::span<const uint32_t> rows,
                                         bool some_absent) {
  auto values =
      arrow::Buffer::FromVector(row_indices(rows.begin(), rows.end()));
  if (!some_absent)
    return std::make_shared<arrow::UInt32Array>(int64_t(rows.size()), values);
  std::vector<uint8_t> valid((rows.size() + 7) / 8);
  for (size_t i = 0; i < rows.size(); ++i)
    valid[i / 8] |= uint8_t((rows[i] != absent) << i % 8);
  return std::make_shared<arrow::UInt32Array>(
      int64_t(rows.size()), values,
      arrow::Buffer::FromVector(std::move(valid)));
}

std::shared_ptr<arrow::Array>
take_column(const std::shared_ptr<arrow::Array>& column,
            const arrow::Array& indices, const operator_context& context) {
  return take_arrow(
      arrow::compute::Take(*column, indices,
                           arrow::compute::TakeOptions::NoBoundsCheck()),
      errc::invalid_data, printable(context.name));
}

} // namespace

join_output::join_output(std::vector<joined_column> columns,
                         std::shared_ptr<arrow::Schema> schema,
                         const operator_context& context)
    : columns_(std::move(columns)), schema_(std::move(schema)),
      context_(context) {}

std::shared_ptr<arrow::RecordBatch> join_output::pairs(
    const arrow::RecordBatch& left, std::span<const uint32_t> left_rows,
    const arrow::RecordBatch& right, std::span<const uint32_t> right_rows,
    bool some_absent) const {
  const bool all_left = is_every_row(left_rows, left.num_rows());
  std::shared_ptr<arrow::Array> left_indices;
  if (!all_left)
    left_indices = indices_of(left_rows, false);
  const std::shared_ptr<arrow::Array> right_indices =
      indices_of(right_rows, some_absent);
  arrow::ArrayVector out;
  for (const joined_column& column : columns_) {
    if (column.left < 0) {
      out.push_back(
          take_column(right.column(column.right), *right_indices, context_));
      continue;
    }
    std::shared_ptr<arrow::Array> values = left.column(column.left);
    if (!all_left)
      values = take_column(values, *left_indices, context_);
    out.push_back(as_type(values, column.type));
  }
  return arrow::RecordBatch::Make(schema_, int64_t(left_rows.size()),
                                  std::move(out));
}

std::shared_ptr<arrow::RecordBatch>
join_output::left_alone(const arrow::RecordBatch& left,
                        std::span<const uint32_t> rows) const {
  const std::shared_ptr<arrow::Array> indices = indices_of(rows, false);
  arrow::ArrayVector out;
  for (const joined_column& column : columns_)
    out.push_back(
        column.left < 0
            ? take_arrow(
                  arrow::MakeArrayOfNull(column.type, int64_t(rows.size())),
                  errc::internal, printable(context_.name))
            : as_type(take_column(left.column(column.left), *indices, context_),
                      column.type));
  return arrow::RecordBatch::Make(schema_, int64_t(rows.size()),
                                  std::move(out));
}

std::shared_ptr<arrow::RecordBatch>
join_output::right_alone(const arrow::RecordBatch& right,
                         std::span<const uint32_t> rows) const {
  const std::shared_ptr<arrow::Array> indices = indices_of(rows, false);
  arrow::ArrayVector out;
  for (const joined_column& column : columns_)
    out.push_back(column.right < 0
                      ? take_arrow(arrow::MakeArrayOfNull(column.type,
                                                          int64_t(rows.size())),
                                   errc::internal, printable(context_.name))
                      : as_type(take_column(right.column(column.right),
                                            *indices, context_),
                                column.type));
  return arrow::RecordBatch::Make(schema_, int64_t(rows.size()),
                                  std::move(out));
}

join_probe::join_probe(const join_output& output, const join_table& table,
                       bool alone_too, seen_rows* right_seen)
    : output_(output), table_(table), alone_too_(alone_too),
      right_seen_(right_seen), right_meter_(*table.rows()) {}

void join_probe::begin(std::shared_ptr<arrow::RecordBatch> left,
                       const join_keys& keys) {
  left_ = std::move(left);
  left_meter_.emplace(*left_);
  table_.find(equal_keys(keys.of(*left_)), found_);
  row_ = 0;
  pair_ = 0;
  const std::optional<double> its = left_meter_->bytes_of_each();
  const std::optional<double> other = right_meter_.bytes_of_each();
  each_fits_ = its && other &&
               (*its + *other) * double(rows_at_once) <= double(bytes_at_once);
}

/// Takes the pair if the batch is not full yet.
bool join_probe::is_room(uint32_t left, uint32_t right) {
  const int64_t bytes = left_meter_->bytes_of(left) +
                        (right == absent ? 0 : right_meter_.bytes_of(right));
  if (!left_rows_.empty() && (int64_t(left_rows_.size()) >= rows_at_once ||
                              bytes_ + bytes > bytes_at_once))
    return false;
  bytes_ += bytes;
  left_rows_.push_back(left);
  right_rows_.push_back(right);
  return true;
}

/// The usual case, without a branch that depends on the rows.
void join_probe::gather_one_each() {
  const size_t count = std::min(found_.size() - row_, size_t(rows_at_once));
  left_rows_.resize(count);
  right_rows_.resize(count);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t number = found_[row_ + i];
    const bool is = number != absent;
    left_rows_[kept] = uint32_t(row_ + i);
    right_rows_[kept] = is ? table_.row_with(number) : absent;
    some_absent_ |= !is && alone_too_;
    kept += is || alone_too_;
  }
  left_rows_.resize(kept);
  right_rows_.resize(kept);
  row_ += uint32_t(count);
}

void join_probe::gather() {
  for (; row_ < found_.size(); ++row_) {
    if (found_[row_] == absent) {
      if (!alone_too_)
        continue;
      if (!is_room(row_, absent))
        return;
      some_absent_ = true;
      continue;
    }
    const std::span<const uint32_t> rows = table_.rows_with(found_[row_]);
    for (; pair_ < rows.size(); ++pair_) {
      if (!is_room(row_, rows[pair_]))
        return;
      if (right_seen_ != nullptr)
        (*right_seen_)[rows[pair_]] = true;
    }
    pair_ = 0;
  }
}

std::shared_ptr<arrow::RecordBatch> join_probe::next() {
  left_rows_.clear();
  right_rows_.clear();
  bytes_ = 0;
  some_absent_ = false;
  if (each_fits_ && table_.one_each() && right_seen_ == nullptr)
    while (left_rows_.empty() && row_ < found_.size())
      gather_one_each();
  else
    gather();
  if (left_rows_.empty())
    return nullptr;
  return output_.pairs(*left_, left_rows_, *table_.rows(), right_rows_,
                       some_absent_);
}

} // namespace ballast::data
