#include "data/picked_rows.hpp"

#include <arrow/api.h>

namespace ballast::data {

namespace {

template <class T>
std::shared_ptr<arrow::ArrayData>
column_of(const std::shared_ptr<arrow::DataType>& type, size_t values,
          std::vector<T> content) {
  return arrow::ArrayData::Make(
      type, int64_t(values),
      {nullptr, arrow::Buffer::FromVector(std::move(content))}, 0);
}

} // namespace

void picked_rows::begin(const chunk& first) {
  schema_ = first.schema;
  const auto& list =
      static_cast<const arrow::FixedSizeListType&>(*schema_->field(0)->type());
  row_bytes_ =
      size_t(list.list_size()) * size_t(list.value_type()->byte_width());
  columns_.features.reserve(expected_ * row_bytes_);
  columns_.sample_ids.reserve(expected_);
}

void picked_rows::add(const chunk& from, uint32_t row) {
  if (!schema_)
    begin(from);
  const auto* features =
      static_cast<const unsigned char*>(from.features) + row * row_bytes_;
  columns_.features.insert(columns_.features.end(), features,
                           features + row_bytes_);
  if (from.labels != nullptr)
    columns_.labels.push_back(from.labels[row]);
  else
    columns_.targets.push_back(from.targets[row]);
  columns_.sample_ids.push_back(from.sample_ids[row]);
}

std::shared_ptr<arrow::RecordBatch> picked_rows::take() {
  const size_t rows = columns_.sample_ids.size();
  const auto type = [&](int column) { return schema_->field(column)->type(); };
  const auto values =
      static_cast<const arrow::FixedSizeListType&>(*type(0)).value_type();
  const size_t count = row_bytes_ / size_t(values->byte_width()) * rows;
  auto features = arrow::ArrayData::Make(
      type(0), int64_t(rows), {nullptr},
      {column_of(values, count, std::move(columns_.features))}, 0);
  auto label = columns_.labels.empty()
                   ? column_of(type(1), rows, std::move(columns_.targets))
                   : column_of(type(1), rows, std::move(columns_.labels));
  return arrow::RecordBatch::Make(
      schema_, int64_t(rows),
      {std::move(features), std::move(label),
       column_of(type(2), rows, std::move(columns_.sample_ids))});
}

} // namespace ballast::data
