#include "data/operators/key_lookup.hpp"

#include <arrow/api.h>

#include <utility>

namespace ballast::data {

namespace {

// So that its thread need not wait for the owner.
constexpr size_t lookups_ahead = 8;

} // namespace

key_lookup::key_lookup(batches from, std::vector<int> columns, table_for table,
                       size_t threads)
    : from_(std::move(from)), columns_(std::move(columns)),
      table_for_(std::move(table)),
      threads_(threads > 0 ? threads : work_threads()) {}

looked_up_batch
key_lookup::keyed(std::shared_ptr<arrow::RecordBatch> rows) const {
  arrow::ArrayVector columns;
  for (int one : columns_)
    columns.push_back(rows->column(one));
  return {std::move(rows), std::make_shared<const equal_keys>(columns), {}, {}};
}

looked_up_batch key_lookup::looked_up(looked_up_batch rows, key_table& in) {
  in.add(*rows.keys, rows.fresh, rows.refused);
  return rows;
}

void key_lookup::fill() {
  while (!ended_ && keys_->under_way() < keys_->wanted()) {
    std::shared_ptr<arrow::RecordBatch> rows = from_();
    ended_ = rows == nullptr;
    if (!ended_)
      keys_->give([this, rows = std::move(rows)] { return keyed(rows); });
  }
}

std::optional<looked_up_batch> key_lookup::next() {
  if (table_ == nullptr && !ended_) {
    std::shared_ptr<arrow::RecordBatch> rows = from_();
    ended_ = rows == nullptr;
    if (ended_)
      return std::nullopt;
    looked_up_batch first = keyed(std::move(rows));
    table_ = &table_for_(first.keys->are_words());
    return looked_up(std::move(first), *table_);
  }
  if (!keys_ && !ended_) {
    keys_.emplace(threads_, "bl-keys");
    lookups_.emplace(1, "bl-lookup");
  }
  if (!keys_)
    return std::nullopt;
  fill();
  while (keys_->under_way() > 0 && lookups_->under_way() < lookups_ahead) {
    lookups_->give([this, rows = keys_->take()]() mutable {
      return looked_up(std::move(rows), *table_);
    });
    fill();
  }
  if (lookups_->under_way() == 0)
    return std::nullopt;
  return lookups_->take();
}

} // namespace ballast::data
