#include "data/base/rows_hash.hpp"

#include "runtime/base/check.hpp"

#include <arrow/api.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <cstring>

namespace ballast::data {

namespace {

using arrow::Type;

bool has_bytes_of_one_width(const arrow::DataType& type) {
  return arrow::is_fixed_width(type.id()) && type.id() != Type::BOOL &&
         type.id() != Type::DICTIONARY;
}

void put_number(content_hash& to, int64_t number) {
  to.update(&number, sizeof number);
}

void put_fixed_width(content_hash& to, const arrow::Array& array) {
  const auto width = size_t(
      static_cast<const arrow::FixedWidthType&>(*array.type()).byte_width());
  const uint8_t* bytes =
      array.data()->GetValues<uint8_t>(1, array.offset() * int64_t(width));
  const auto rows = size_t(array.length());
  if (rows == 0 || width == 0)
    return;
  if (array.null_count() == 0)
    return to.update(bytes, rows * width);
  std::vector<uint8_t> known(bytes, bytes + rows * width);
  for (size_t i = 0; i < rows; ++i)
    if (array.IsNull(int64_t(i)))
      std::memset(known.data() + i * width, 0, width);
  to.update(known.data(), known.size());
}

void put_booleans(content_hash& to, const arrow::BooleanArray& array) {
  std::vector<uint8_t> bytes(size_t(array.length()));
  for (int64_t i = 0; i < array.length(); ++i)
    bytes[size_t(i)] = array.IsValid(i) && array.Value(i) ? 1 : 0;
  to.update(bytes.data(), bytes.size());
}

/// Their lengths apart, so that "ab", "c" is not "a", "bc".
template <class Array>
void put_texts(content_hash& to, content_hash& lengths, const Array& array) {
  std::vector<int64_t> each(size_t(array.length()));
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i))
      continue;
    const auto text = array.GetView(i);
    each[size_t(i)] = int64_t(text.size());
    to.update(text.data(), text.size());
  }
  lengths.update(each.data(), each.size() * sizeof(int64_t));
}

template <class Array>
void put_lengths(content_hash& lengths, const Array& array) {
  for (int64_t i = 0; i < array.length(); ++i)
    put_number(lengths, array.IsNull(i) ? 0 : int64_t(array.value_length(i)));
}

std::shared_ptr<arrow::Array>
values_of(arrow::Result<std::shared_ptr<arrow::Array>> flat) {
  BALLAST_CHECK(flat.ok(), "a list without its values");
  return std::move(flat).ValueUnsafe();
}

} // namespace

bool can_be_hashed(const arrow::DataType& type) {
  switch (type.id()) {
  case Type::STRING:
  case Type::BINARY:
  case Type::LARGE_STRING:
  case Type::LARGE_BINARY:
  case Type::STRING_VIEW:
  case Type::BINARY_VIEW:
  case Type::BOOL:
  case Type::NA:
    return true;
  case Type::LIST:
  case Type::LARGE_LIST:
  case Type::FIXED_SIZE_LIST:
  case Type::MAP:
  case Type::STRUCT:
    return std::all_of(
        type.fields().begin(), type.fields().end(),
        [](const auto& field) { return can_be_hashed(*field->type()); });
  default:
    return has_bytes_of_one_width(type);
  }
}

struct rows_hash::column {
  content_hash nulls; // their places
  content_hash lengths;
  content_hash values;
  std::vector<std::unique_ptr<column>> children;
  int64_t rows = 0;

  column& child(size_t i) {
    while (children.size() <= i)
      children.push_back(std::make_unique<column>());
    return *children[i];
  }

  void update(const arrow::Array& array) {
    for (int64_t i = 0; array.null_count() > 0 && i < array.length(); ++i)
      if (array.IsNull(i))
        put_number(nulls, rows + i);
    put(array);
    rows += array.length();
  }

  void put(const arrow::Array& array) {
    switch (array.type_id()) {
    case Type::BOOL:
      return put_booleans(values,
                          static_cast<const arrow::BooleanArray&>(array));
    case Type::STRING:
    case Type::BINARY:
      return put_texts(values, lengths,
                       static_cast<const arrow::BinaryArray&>(array));
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return put_texts(values, lengths,
                       static_cast<const arrow::LargeBinaryArray&>(array));
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return put_texts(values, lengths,
                       static_cast<const arrow::BinaryViewArray&>(array));
    case Type::NA:
      return;
    default:
      return put_nested(array);
    }
  }

  void put_nested(const arrow::Array& array) {
    switch (array.type_id()) {
    case Type::LIST:
    case Type::MAP:
      return put_list(static_cast<const arrow::ListArray&>(array));
    case Type::LARGE_LIST:
      return put_list(static_cast<const arrow::LargeListArray&>(array));
    case Type::FIXED_SIZE_LIST:
      return put_list(static_cast<const arrow::FixedSizeListArray&>(array));
    case Type::STRUCT: {
      // With the nulls of the struct in its fields.
      auto fields = static_cast<const arrow::StructArray&>(array).Flatten();
      BALLAST_CHECK(fields.ok(), "a struct without its fields");
      for (size_t i = 0; i < fields->size(); ++i)
        child(i).update(*(*fields)[i]);
      return;
    }
    default:
      BALLAST_CHECK(has_bytes_of_one_width(*array.type()),
                    "a type that has no hash");
      put_fixed_width(values, array);
    }
  }

  template <class Array>
  void put_list(const Array& array) {
    put_lengths(lengths, array);
    child(0).update(*values_of(array.Flatten()));
  }

  void digest(content_hash& to) const {
    put_number(to, rows);
    for (const content_hash* one : {&nulls, &lengths, &values})
      put_number(to, int64_t(one->digest()));
    for (const std::unique_ptr<column>& one : children)
      one->digest(to);
  }
};

rows_hash::rows_hash() = default;
rows_hash::~rows_hash() = default;
rows_hash::rows_hash(rows_hash&&) noexcept = default;
rows_hash& rows_hash::operator=(rows_hash&&) noexcept = default;

void rows_hash::update(const arrow::RecordBatch& batch) {
  for (int i = 0; i < batch.num_columns(); ++i) {
    if (columns_.size() <= size_t(i))
      columns_.push_back(std::make_unique<column>());
    columns_[size_t(i)]->update(*batch.column(i));
  }
  rows_ += batch.num_rows();
}

uint64_t rows_hash::digest() const {
  content_hash out;
  put_number(out, rows_);
  for (const std::unique_ptr<column>& one : columns_)
    one->digest(out);
  return out.digest();
}

} // namespace ballast::data
