#include "data/operators/held_rows.hpp"

#include "data/operators/row_order.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <span>
#include <utility>

namespace ballast::data {

std::shared_ptr<arrow::RecordBatch> ordered_rows::next() {
  if (at_ == order_.size()) {
    rows_ = nullptr;
    row_indices().swap(order_);
    at_ = 0;
    return nullptr;
  }
  const std::span<const uint32_t> left = std::span(order_).subspan(at_);
  const size_t count =
      row_meter(*rows_).that_fit(left, rows_at_once, bytes_at_once);
  at_ += count;
  return taken(rows_, left.first(count), *context_);
}

held_rows::held_rows(std::shared_ptr<arrow::Schema> schema,
                     const operator_context& context, size_t keys)
    : schema_(std::move(schema)), context_(context),
      bytes_to_order_(bytes_to_order + 8 * int64_t(keys)) {}

bool held_rows::would_be_too_many(const arrow::RecordBatch& rows) const {
  const batch_bytes its = bytes_of_columns(rows);
  const int64_t bytes = bytes_.all + its.all;
  const int64_t all = rows_ + rows.num_rows();
  // First columns are joined, then ordered. A block of what is written or
  // handed out comes on top.
  const int64_t beside =
      std::max(bytes_.largest + its.largest, all * bytes_to_order_);
  return rows_ > 0 && (bytes > batch_bytes_max || all > INT32_MAX ||
                       bytes + beside > memory_of(context_) / 8 * 7);
}

void held_rows::add(std::shared_ptr<arrow::RecordBatch> rows) {
  const batch_bytes its = bytes_of_columns(*rows);
  rows_ += rows->num_rows();
  bytes_.all += its.all;
  bytes_.largest += its.largest;
  held_.push_back(std::move(rows));
}

std::vector<std::shared_ptr<arrow::RecordBatch>> held_rows::take() {
  rows_ = 0;
  bytes_ = {};
  return std::exchange(held_, {});
}

ordered_rows held_rows::in_order(const row_ordering& ordering) {
  std::shared_ptr<arrow::RecordBatch> rows =
      together(schema_, take(), context_);
  row_indices order =
      order_of(ordering.keys_of(*rows), rows->num_rows(), context_.stop);
  return {std::move(rows), std::move(order), context_};
}

} // namespace ballast::data
