#include "data/source/batch_pieces.hpp"

#include "data/expression/binding.hpp"
#include "data/source/stream_file.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
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

template <class Texts>
int64_t longest_of(const arrow::Array& texts) {
  const auto& all = static_cast<const Texts&>(texts);
  size_t out = 0;
  for (int64_t i = 0; i < all.length(); ++i)
    out = std::max(out, all.GetView(i).size());
  return int64_t(out);
}

/// At least that of the longest value.
int64_t longest_value(const std::shared_ptr<arrow::ArrayData>& values) {
  constexpr int64_t fixed = 16;
  const std::shared_ptr<arrow::Array> array = arrow::MakeArray(values);
  switch (values->type->id()) {
  case arrow::Type::STRING:
  case arrow::Type::BINARY:
    return std::max(fixed, longest_of<arrow::BinaryArray>(*array));
  case arrow::Type::LARGE_STRING:
  case arrow::Type::LARGE_BINARY:
    return std::max(fixed, longest_of<arrow::LargeBinaryArray>(*array));
  case arrow::Type::STRING_VIEW:
  case arrow::Type::BINARY_VIEW:
    return std::max(fixed, longest_of<arrow::BinaryViewArray>(*array));
  default:
    return arrow::is_fixed_width(values->type->id())
               ? fixed
               : arrow::util::TotalBufferSize(*values);
  }
}

int64_t times(int64_t bytes, int64_t rows) {
  return int64_t(
      std::min(double(bytes) * double(rows), double(int64_t{1} << 62)));
}

/// Decoded, `array` takes at most so many bytes more than without its
/// dictionaries: a dictionary of one long text can stand for millions, and so
/// can a run, and views of one text.
int64_t bytes_decoded(const arrow::ArrayData& array) {
  switch (array.type->id()) {
  case arrow::Type::DICTIONARY:
    return array.dictionary == nullptr
               ? 0
               : times(longest_value(array.dictionary), array.length);
  case arrow::Type::RUN_END_ENCODED:
    return times(longest_value(array.child_data[1]), array.length);
  case arrow::Type::STRING_VIEW:
  case arrow::Type::BINARY_VIEW: {
    const auto made = arrow::MakeArray(array.Copy());
    const auto& views = static_cast<const arrow::BinaryViewArray&>(*made);
    int64_t out = 0;
    for (int64_t i = 0; i < views.length(); ++i)
      out += views.IsNull(i) ? 0 : int64_t(views.GetView(i).size());
    return out;
  }
  default:
    int64_t out = 0;
    for (const auto& child : array.child_data)
      out += bytes_decoded(*child);
    return out;
  }
}

arrow::Result<std::shared_ptr<arrow::Array>>
decoded(const std::shared_ptr<arrow::Array>& array) {
  const std::shared_ptr<arrow::DataType> type = plain_type(array->type());
  if (type->Equals(*array->type()))
    return array;
  prepare_functions();
  arrow::compute::ExecContext context(limited_pool());
  if (array->type_id() == arrow::Type::DICTIONARY) {
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*array);
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Array> values,
                          decoded(coded.dictionary()));
    return arrow::compute::Take(*values, *coded.indices(),
                                arrow::compute::TakeOptions::NoBoundsCheck(),
                                &context);
  }
  if (array->type_id() == arrow::Type::RUN_END_ENCODED) {
    ARROW_ASSIGN_OR_RAISE(const arrow::Datum values,
                          arrow::compute::RunEndDecode(array, &context));
    return decoded(values.make_array());
  }
  if (array->num_fields() == 0) // text or bytes
    return arrow::compute::Cast(*array, type,
                                arrow::compute::CastOptions::Safe(), &context);
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
  case arrow::Type::STRING_VIEW:
  case arrow::Type::LARGE_STRING:
    return arrow::utf8();
  case arrow::Type::BINARY_VIEW:
  case arrow::Type::LARGE_BINARY:
    return arrow::binary();
  case arrow::Type::RUN_END_ENCODED:
    return plain_type(
        static_cast<const arrow::RunEndEncodedType&>(*type).value_type());
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
    int64_t rows = std::min(rows_at_once_, batch_->num_rows() - at_);
    auto plain = decoded(*batch_->Slice(at_, rows));
    // Rows differ in size: a text holds 2 GiB at most.
    while (!plain.ok() && rows > 1) {
      rows = (rows + 1) / 2;
      plain = decoded(*batch_->Slice(at_, rows));
    }
    ARROW_ASSIGN_OR_RAISE(plain_, std::move(plain));
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
