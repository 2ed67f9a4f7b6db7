/// How a stream_reader leaves rows out: which they are, and what is told of
/// them.
#include "data/source/array_cells.hpp"
#include "data/source/bad_rows.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_reader.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

/// Why a check refuses a row, as it says it.
template <class Check>
void note_if_refused(int64_t row, std::vector<bad_row>& out, Check check) {
  try {
    check();
  } catch (const row_error& why) {
    out.push_back({row, why.column(), why.reason(), {}});
  }
}

} // namespace

/// A value is missing, or the label is none.
std::vector<bad_row> stream_reader::bad_cells(const table_rows& rows) const {
  std::vector<bad_row> out;
  const auto find_missing = [&](size_t place, size_t number) {
    const arrow::Array& column = *selected_.batch->column(int(place));
    if (column.null_count() == 0)
      return;
    for (int64_t row = 0; row < column.length(); ++row)
      if (column.IsNull(row))
        out.push_back({row, columns_[number].name, "the value is missing", {}});
  };
  for (size_t i = 0; i < features_.size(); ++i)
    find_missing(features_[i], choice_.features[i]);
  if (choice_.label && !label_is_text_)
    find_missing(*label_, *choice_.label);
  if (choice_.label)
    find_bad_labels(rows, out);
  put_in_order(out);
  return out;
}

void stream_reader::find_bad_labels(const table_rows& rows,
                                    std::vector<bad_row>& out) const {
  const arrow::Array& column = *selected_.batch->column(int(*label_));
  const std::string& name = columns_[*choice_.label].name;
  std::vector<double> numbers;
  if (!label_is_text_)
    numbers = numbers_of(column);
  for (int64_t row = 0; row < column.length(); ++row)
    if (label_is_text_)
      note_if_refused(row, out,
                      [&] { rows.check_label(text_of(*label_, row), name); });
    else if (!column.IsNull(row))
      note_if_refused(row, out,
                      [&] { rows.check_label(numbers[size_t(row)], name); });
}

std::vector<bad_row>
stream_reader::bad_features(const std::vector<const arrow::Array*>& features,
                            const table_rows& rows) const {
  std::vector<bad_row> out;
  for (size_t i = 0; i < features.size(); ++i) {
    const std::vector<double> numbers = numbers_of(*features[i]);
    const std::string& name = columns_[choice_.features[i]].name;
    for (size_t row = 0; row < numbers.size(); ++row)
      if (is_bad_number(numbers[row], request_.label == label_kind::none))
        note_if_refused(int64_t(row), out,
                        [&] { rows.refuse_feature(numbers[row], name, {}); });
  }
  put_in_order(out);
  return out;
}

/// The condition, on rows of which it is true or false.
void stream_reader::take_those_with_a_result() {
  std::vector<bad_row> bad;
  try {
    return keep(taken_->select(selected_.batch));
  } catch (const source_error&) {
    for (failing_row& one : taken_->failing(*selected_.batch))
      bad.push_back({one.row, {}, std::move(one.reason), {}});
    if (bad.empty())
      throw;
  }
  leave_out_rows(std::move(bad));
  keep(taken_->select(selected_.batch));
}

/// `bad`: in order.
void stream_reader::leave_out_rows(std::vector<bad_row> bad) {
  if (bad.empty())
    return;
  for (const bad_row& one : bad) {
    auto key = uint64_t(row_read(one.row));
    if (origin_)
      key = static_cast<const arrow::UInt64Array&>(
                *selected_.batch->column(int(*origin_)))
                .Value(one.row);
    left_out_.emplace_back(key, fault_of(one));
    row_fault& out = left_out_.back().second;
    if (origins_ == nullptr) {
      add_written(out, from_.as_written(int64_t(key)),
                  spec_.format == source_format::jsonl);
      out.source = request_.pointer.substr(request_.pointer.rfind('/') + 1);
      out.file = path_;
      out.row = rows_read_ - first_row_ + key + 1;
      out.line = from_.line_of(int64_t(key));
      continue;
    }
    const row_origins::found from = origins_->find(key);
    out.source = from.source;
    out.file = from.file;
    out.row = from.row;
    out.step = spec_.from;
  }
  keep(without_rows(selected_.batch, bad));
}

/// What is wrong and the values, without the place.
row_fault stream_reader::fault_of(const bad_row& what) const {
  row_fault out;
  out.column = what.column;
  out.reason = what.reason;
  out.text = what.text;
  const arrow::RecordBatch& batch = *selected_.batch;
  for (int i = 0; out.text.empty() && i < batch.num_columns(); ++i)
    if (const std::string& name = batch.schema()->field(i)->name();
        (out.values.size() < fault_values_max || name == what.column) &&
        (!origin_ || *origin_ != size_t(i)))
      out.values.emplace_back(name, text_of(size_t(i), what.row));
  return out;
}

void stream_reader::tell_in_order() {
  if (left_out_.empty())
    return;
  if (origins_ == nullptr)
    std::stable_sort(
        left_out_.begin(), left_out_.end(),
        [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [key, what] : left_out_)
    if (origins_ == nullptr)
      request_.faults->add(what);
    else
      request_.faults->add(key, what);
  left_out_.clear();
}

} // namespace ballast::data
