#include "data/fitting/column_values.hpp"

#include "data/base/arrow_support.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/vectorized.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ballast::data {

namespace {

bool is_text(const arrow::DataType& type) {
  return type.id() == arrow::Type::STRING ||
         type.id() == arrow::Type::LARGE_STRING;
}

bool is_category(const arrow::DataType& type) {
  return is_text(type) || arrow::is_integer(type.id()) ||
         type.id() == arrow::Type::BOOL;
}

bool is_time(const arrow::DataType& type) {
  return type.id() == arrow::Type::DATE32 || type.id() == arrow::Type::DATE64 ||
         type.id() == arrow::Type::TIMESTAMP;
}

BALLAST_VECTORIZED
size_t count_nan(const double* values, size_t count) {
  size_t out = 0;
  for (size_t i = 0; i < count; ++i)
    out += values[i] != values[i] ? 1 : 0;
  return out;
}

BALLAST_VECTORIZED
bool all_finite(const double* values, size_t count) {
  size_t others = 0;
  for (size_t i = 0; i < count; ++i)
    others += values[i] - values[i] == 0 ? 0 : 1;
  return others == 0;
}

template <class Texts>
void see_texts(
    const arrow::Array& column,
    const std::function<void(int64_t row, std::string_view text)>& see) {
  const auto& texts = static_cast<const Texts&>(column);
  for (int64_t row = 0; row < texts.length(); ++row) {
    const std::string_view text =
        texts.IsNull(row) ? std::string_view() : texts.GetView(row);
    // Empty text is a category of its own.
    see(row, texts.IsValid(row) && text.data() == nullptr ? std::string_view("")
                                                          : text);
  }
}

template <class Integers>
void see_integers(
    const arrow::Array& column,
    const std::function<void(int64_t row, std::string_view text)>& see) {
  const auto& numbers = static_cast<const Integers&>(column);
  char text[32];
  for (int64_t row = 0; row < numbers.length(); ++row) {
    if (numbers.IsNull(row)) {
      see(row, {});
      continue;
    }
    const auto end =
        std::to_chars(text, text + sizeof text, numbers.Value(row)).ptr;
    see(row, {text, size_t(end - text)});
  }
}

} // namespace

std::string kinds_text(value_kind kind) {
  switch (kind) {
  case value_kind::numbers:
    return "numbers or booleans; \"cast\" makes them of text, and \"one_hot\", "
           "\"ordinal\" or \"hash_encode\" of categories";
  case value_kind::categories:
    return "text, whole numbers or booleans; \"cast\" or \"bin\" makes them of "
           "other numbers";
  case value_kind::times:
    return "dates or timestamps; \"cast\" makes them of text";
  case value_kind::texts:
    return "text; \"cast\" makes it of numbers";
  case value_kind::any:
    break;
  }
  return "numbers, booleans or text";
}

bool is_of_kind(value_kind kind, const arrow::DataType& type) {
  switch (kind) {
  case value_kind::numbers:
    return holds_numbers(type);
  case value_kind::categories:
    return is_category(type);
  case value_kind::times:
    return is_time(type);
  case value_kind::texts:
    return is_text(type);
  case value_kind::any:
    break;
  }
  return holds_numbers(type) || is_text(type);
}

number_column::number_column(std::shared_ptr<arrow::Array> column)
    : column_(std::move(column)) {
  if (column_->type_id() == arrow::Type::DOUBLE) {
    const auto& doubles = static_cast<const arrow::DoubleArray&>(*column_);
    values_ = {doubles.raw_values(), size_t(doubles.length())};
  } else {
    converted_ = numbers_of(*column_);
    values_ = converted_;
  }
  if (column_->null_count() > 0) {
    valid_ = column_->null_bitmap_data();
    first_bit_ = uint64_t(column_->offset());
    all_null_ = valid_ == nullptr;
  }
  missing_ = column_->null_count();
  if (count_nan(values_.data(), values_.size()) == 0)
    return;
  missing_ = 0;
  for (int64_t row = 0; row < column_->length(); ++row)
    missing_ += is_missing(row) ? 1 : 0;
}

std::vector<double> number_column::present() const {
  std::vector<double> out(values_.size());
  size_t count = 0;
  for (size_t row = 0; row < values_.size(); ++row) {
    out[count] = values_[row];
    count += is_missing(int64_t(row)) ? 0 : 1;
  }
  out.resize(count);
  return out;
}

void check_finite(const number_column& numbers, const cell_owner& owner,
                  const row_finder& place) {
  const std::span<const double> values = numbers.values();
  if (all_finite(values.data(), values.size()))
    return;
  for (size_t row = 0; row < values.size(); ++row)
    if (std::isinf(values[row]) && !numbers.is_missing(int64_t(row)))
      throw row_error(place(int64_t(row)), owner.column,
                      "the number is infinite; \"" + owner.step +
                          "\" needs finite ones: leave the row out by a "
                          "\"filter\" before " +
                          owner.pointer,
                      owner.pointer);
}

void refuse_missing(const cell_owner& owner, const row_finder& place,
                    int64_t row) {
  throw row_error(place(row), owner.column,
                  "the value is missing; \"" + owner.step +
                      "\" needs one in every row: put an \"impute\" of the "
                      "column before " +
                      owner.pointer,
                  owner.pointer);
}

void check_numbers(const number_column& numbers, const cell_owner& owner,
                   const row_finder& place) {
  check_finite(numbers, owner, place);
  if (!numbers.has_missing())
    return;
  for (size_t row = 0; row < numbers.values().size(); ++row)
    if (numbers.is_missing(int64_t(row)))
      refuse_missing(owner, place, int64_t(row));
}

void for_each_category(
    const arrow::Array& column,
    const std::function<void(int64_t row, std::string_view text)>& see) {
  switch (column.type_id()) {
  case arrow::Type::STRING:
    return see_texts<arrow::StringArray>(column, see);
  case arrow::Type::LARGE_STRING:
    return see_texts<arrow::LargeStringArray>(column, see);
  case arrow::Type::BOOL: {
    const auto& flags = static_cast<const arrow::BooleanArray&>(column);
    for (int64_t row = 0; row < flags.length(); ++row)
      see(row, flags.IsNull(row)  ? std::string_view()
               : flags.Value(row) ? "true"
                                  : "false");
    return;
  }
  case arrow::Type::INT64:
    return see_integers<arrow::Int64Array>(column, see);
  case arrow::Type::INT32:
    return see_integers<arrow::Int32Array>(column, see);
  case arrow::Type::INT16:
    return see_integers<arrow::Int16Array>(column, see);
  case arrow::Type::INT8:
    return see_integers<arrow::Int8Array>(column, see);
  case arrow::Type::UINT64:
    return see_integers<arrow::UInt64Array>(column, see);
  case arrow::Type::UINT32:
    return see_integers<arrow::UInt32Array>(column, see);
  case arrow::Type::UINT16:
    return see_integers<arrow::UInt16Array>(column, see);
  case arrow::Type::UINT8:
    return see_integers<arrow::UInt8Array>(column, see);
  default: {
    const std::vector<double> numbers = numbers_of(column);
    char text[32];
    for (int64_t row = 0; row < column.length(); ++row) {
      const double value = numbers[size_t(row)];
      if (column.IsNull(row) || std::isnan(value)) {
        see(row, {});
        continue;
      }
      // -0.0 is 0.0.
      const auto end =
          std::to_chars(text, text + sizeof text, value == 0 ? 0.0 : value).ptr;
      see(row, {text, size_t(end - text)});
    }
  }
  }
}

namespace {

template <class Cells, class Value>
new_cells<Value> cells_of(size_t rows) {
  std::shared_ptr<arrow::Buffer> room =
      take_arrow(arrow::AllocateBuffer(int64_t(rows * sizeof(Value))),
                 errc::internal, "a column");
  auto* const values = reinterpret_cast<Value*>(room->mutable_data());
  return {std::make_shared<Cells>(int64_t(rows), std::move(room)), values};
}

} // namespace

new_cells<double> new_float64(size_t rows) {
  return cells_of<arrow::DoubleArray, double>(rows);
}

new_cells<uint8_t> new_flags(size_t rows) {
  return cells_of<arrow::UInt8Array, uint8_t>(rows);
}

std::shared_ptr<arrow::Array> float64_array(std::vector<double> values) {
  const auto rows = int64_t(values.size());
  return std::make_shared<arrow::DoubleArray>(
      rows, arrow::Buffer::FromVector(std::move(values)));
}

std::shared_ptr<arrow::Array> int64_array(std::vector<int64_t> values) {
  const auto rows = int64_t(values.size());
  return std::make_shared<arrow::Int64Array>(
      rows, arrow::Buffer::FromVector(std::move(values)));
}

std::shared_ptr<arrow::Array> flag_array(std::vector<uint8_t> values) {
  const auto rows = int64_t(values.size());
  return std::make_shared<arrow::UInt8Array>(
      rows, arrow::Buffer::FromVector(std::move(values)));
}

void put_in_order(std::vector<std::string>& categories,
                  const std::string& type) {
  if (type == "string" || type == "large_string" || type == "bool") {
    std::sort(categories.begin(), categories.end());
    return;
  }
  const auto number = [](const std::string& text) {
    long double out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  };
  std::sort(categories.begin(), categories.end(),
            [&](const std::string& a, const std::string& b) {
              return number(a) < number(b);
            });
}

} // namespace ballast::data
