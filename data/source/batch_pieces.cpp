#include "data/source/batch_pieces.hpp"

#include "data/source/stream_file.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

namespace ballast::data {

namespace {

std::shared_ptr<arrow::Field> plain_field(const arrow::Field& field) {
  return field.WithType(plain_type(field.type()));
}

/// Decoded, `array` takes at most so many bytes more than without its
/// dictionaries: a dictionary of one long text can stand for millions.
int64_t bytes_decoded(const arrow::ArrayData& array) {
  int64_t out = 0;
  for (const auto& child : array.child_data)
    out += bytes_decoded(*child);
  if (array.type->id() != arrow::Type::DICTIONARY ||
      array.dictionary == nullptr)
    return out;
  const arrow::ArrayData& values = *array.dictionary;
  int64_t longest = 16;
  if (arrow::is_base_binary_like(values.type->id())) {
    const std::shared_ptr<arrow::Array> texts =
        arrow::MakeArray(array.dictionary);
    for (int64_t i = 0; i < values.length; ++i) {
      const int64_t bytes =
          arrow::is_large_binary_like(values.type->id())
              ? static_cast<const arrow::LargeBinaryArray&>(*texts)
                    .value_length(i)
              : static_cast<const arrow::BinaryArray&>(*texts).value_length(i);
      longest = std::max(longest, bytes);
    }
  } else if (!arrow::is_fixed_width(values.type->id())) {
    longest = std::max(longest, arrow::util::TotalBufferSize(values));
  }
  return out + int64_t(std::min(double(longest) * double(array.length),
                                double(int64_t{1} << 62)));
}

arrow::Result<std::shared_ptr<arrow::Array>>
decoded(const std::shared_ptr<arrow::Array>& array) {
  const std::shared_ptr<arrow::DataType> type = plain_type(array->type());
  if (type->Equals(*array->type()))
    return array;
  if (array->type_id() == arrow::Type::DICTIONARY) {
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*array);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> values,
                          decoded(coded.dictionary()));
    arrow::compute::ExecContext context(limited_pool());
    return arrow::compute::Take(*values, *coded.indices(),
                                arrow::compute::TakeOptions::NoBoundsCheck(),
                                &context);
  }
  // A slice still has whole children: only its own part is to be decoded.
  ARROW_ASSIGN_OR_RAISE(const std::shared_ptr<arrow::Array> own,
                        arrow::Concatenate({array}, limited_pool()));
  std::shared_ptr<arrow::ArrayData> data = own->data()->Copy();
  data->type = type;
  for (std::shared_ptr<arrow::ArrayData>& child : data->child_data) {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> one,
                          decoded(arrow::MakeArray(child)));
    child = one->data();
  }
  return arrow::MakeArray(data);
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>>
decoded(const arrow::RecordBatch& batch) {
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const std::shared_ptr<arrow::Array>& column : batch.columns()) {
    ARROW_ASSIGN_OR_RAISE(columns.emplace_back(), decoded(column));
  }
  return arrow::RecordBatch::Make(plain_schema(batch.schema()),
                                  batch.num_rows(), std::move(columns));
}

int64_t referenced_bytes(const arrow::RecordBatch& batch) {
  const arrow::Result<int64_t> exact = arrow::util::ReferencedBufferSize(batch);
  // Not told for every type.
  return exact.ok() ? *exact : arrow::util::TotalBufferSize(batch);
}

} // namespace

std::shared_ptr<arrow::DataType>
plain_type(const std::shared_ptr<arrow::DataType>& type) {
  switch (type->id()) {
  case arrow::Type::DICTIONARY:
    return plain_type(
        static_cast<const arrow::DictionaryType&>(*type).value_type());
  case arrow::Type::STRUCT: {
    arrow::FieldVector fields;
    for (const std::shared_ptr<arrow::Field>& field : type->fields())
      fields.push_back(plain_field(*field));
    return arrow::struct_(fields);
  }
  case arrow::Type::LIST:
    return arrow::list(plain_field(*type->field(0)));
  case arrow::Type::LARGE_LIST:
    return arrow::large_list(plain_field(*type->field(0)));
  case arrow::Type::FIXED_SIZE_LIST:
    return arrow::fixed_size_list(
        plain_field(*type->field(0)),
        static_cast<const arrow::FixedSizeListType&>(*type).list_size());
  case arrow::Type::MAP: {
    const auto& map = static_cast<const arrow::MapType&>(*type);
    return std::make_shared<arrow::MapType>(plain_field(*map.key_field()),
                                            plain_field(*map.item_field()),
                                            map.keys_sorted());
  }
  default:
    return type;
  }
}

std::shared_ptr<arrow::Schema>
plain_schema(const std::shared_ptr<arrow::Schema>& schema) {
  arrow::FieldVector fields;
  for (const std::shared_ptr<arrow::Field>& field : schema->fields())
    fields.push_back(plain_field(*field));
  return arrow::schema(std::move(fields), schema->metadata());
}

chosen_columns::chosen_columns(int count) : read_(size_t(count)) {
  std::iota(read_.begin(), read_.end(), 0);
  order_ = read_;
}

chosen_columns::chosen_columns(int count, const std::vector<int>& wanted)
    : read_(wanted), all_(false) {
  for (int column : wanted)
    if (column < 0 || column >= count)
      throw std::out_of_range("column " + std::to_string(column) + " of " +
                              std::to_string(count));
  std::sort(read_.begin(), read_.end());
  read_.erase(std::unique(read_.begin(), read_.end()), read_.end());
  for (int column : wanted)
    order_.push_back(int(std::lower_bound(read_.begin(), read_.end(), column) -
                         read_.begin()));
  if (read_.empty() && count > 0)
    read_.push_back(0);
}

std::shared_ptr<arrow::RecordBatch>
chosen_columns::pick(const std::shared_ptr<arrow::RecordBatch>& batch) const {
  return all_ ? batch : batch->SelectColumns(order_).ValueOrDie();
}

std::shared_ptr<arrow::RecordBatch> chosen_columns::pick_of_all(
    const std::shared_ptr<arrow::RecordBatch>& batch) const {
  return all_ ? batch : pick(batch->SelectColumns(read_).ValueOrDie());
}

void batch_pieces::put(std::shared_ptr<arrow::RecordBatch> batch) {
  batch_ = std::move(batch);
  at_ = 0;
  plain_ = nullptr;
  int64_t decoded = 0;
  for (const std::shared_ptr<arrow::Array>& column : batch_->columns())
    decoded = std::max(decoded, bytes_decoded(*column->data()));
  rows_at_once_ = batch_->num_rows();
  if (decoded > bytes_max_)
    rows_at_once_ =
        std::max<int64_t>(1, int64_t(double(rows_at_once_) *
                                     double(bytes_max_) / double(decoded)));
}

arrow::Result<std::shared_ptr<arrow::RecordBatch>> batch_pieces::cut() {
  if (plain_ == nullptr) {
    if (batch_ == nullptr || at_ == batch_->num_rows()) {
      batch_ = nullptr;
      return nullptr;
    }
    const int64_t rows = std::min(rows_at_once_, batch_->num_rows() - at_);
    ARROW_ASSIGN_OR_RAISE(plain_, decoded(*batch_->Slice(at_, rows)));
    at_ += rows;
    plain_at_ = 0;
  }
  int64_t rows = plain_->num_rows() - plain_at_;
  std::shared_ptr<arrow::RecordBatch> out = plain_->Slice(plain_at_, rows);
  // Rows differ in size: the first guess may still be too large.
  for (int64_t bytes = referenced_bytes(*out); rows > 1 && bytes > bytes_max_;
       bytes = referenced_bytes(*out)) {
    rows = std::clamp<int64_t>(
        int64_t(double(rows) * double(bytes_max_) / double(bytes)), 1,
        rows - 1);
    out = plain_->Slice(plain_at_, rows);
  }
  plain_at_ += rows;
  before_ = rows_;
  rows_ += rows;
  if (plain_at_ == plain_->num_rows())
    plain_ = nullptr;
  return out;
}

} // namespace ballast::data
