#include "data/store/picked_rows.hpp"

#include <arrow/api.h>

namespace ballast::data {

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
  return make_batch(std::move(schema_), std::move(columns_));
}

} // namespace ballast::data
