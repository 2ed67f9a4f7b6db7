#include "data/source/number_columns.hpp"

#include "data/source/source_table.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace ballast::data {

namespace {

// 4 KiB of float32: a tile stays in the nearest cache while it is turned, and
// 16 of them are a cache line of a row.
constexpr int64_t tile_rows = 64;
constexpr size_t tile_columns = 16;

/// By way of double, as every number here: a 64-bit integer is rounded twice.
template <class T>
bool convert(const void* values, int64_t first, int64_t count, float* out) {
  const T* from = static_cast<const T*>(values) + first;
  uint32_t bad = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float number = float(double(from[i]));
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof(bits));
    bad |= uint32_t((bits & 0x7f800000) == 0x7f800000); // no number or infinite
    out[i] = number;
  }
  return bad == 0;
}

template <class T>
bool convert_tokens(const void* values, int64_t first, int64_t count,
                    float* out, int32_t& most) {
  const T* from = static_cast<const T*>(values) + first;
  uint32_t bad = 0;
  int32_t largest = most;
  for (int64_t i = 0; i < count; ++i) {
    const double number = double(from[i]);
    const bool within = number >= 0 && number < double(tokens_max);
    const double token = within ? number : 0.5; // which is not whole
    const auto whole = int32_t(token);
    bad |= uint32_t(double(whole) != token);
    largest = largest < whole ? whole : largest;
    out[i] = float(number);
  }
  most = largest;
  return bad == 0;
}

void look_at_range(const float* numbers, int64_t count, number_range& range) {
  uint32_t no_int16 = 0;
  uint32_t no_uint8 = 0;
  for (int64_t i = 0; i < count; ++i) {
    const float number = numbers[i];
    const bool within = number >= -32768 && number <= 32767;
    const float some = within ? number : 0.5f; // which is not whole
    no_int16 |= uint32_t(float(int32_t(some)) != some);
    no_uint8 |= uint32_t(!(number >= 0 && number <= 255));
  }
  range.int16 = range.int16 && no_int16 == 0;
  range.uint8 = range.uint8 && range.int16 && no_uint8 == 0;
}

/// One column, whatever its type.
struct typed_column {
  const void* values = nullptr;
  bool (*convert)(const void*, int64_t, int64_t, float*) = nullptr;
  bool (*convert_tokens)(const void*, int64_t, int64_t, float*,
                         int32_t&) = nullptr;
  double (*at)(const void*, int64_t) = nullptr;
  std::vector<uint8_t> unpacked; // of a column of bits

  template <class T>
  void are(const T* numbers) {
    values = numbers;
    convert = data::convert<T>;
    convert_tokens = data::convert_tokens<T>;
    at = [](const void* all, int64_t row) {
      return double(static_cast<const T*>(all)[row]);
    };
  }
  template <class ArrayType>
  void are_of(const arrow::Array& column) {
    are(static_cast<const ArrayType&>(column).raw_values());
  }
};

typed_column values_of(const arrow::Array& column) {
  typed_column out;
  switch (column.type_id()) {
  case arrow::Type::BOOL: {
    const auto& bits = static_cast<const arrow::BooleanArray&>(column);
    for (int64_t i = 0; i < bits.length(); ++i)
      out.unpacked.push_back(uint8_t(bits.Value(i)));
    out.are(out.unpacked.data());
    break;
  }
  case arrow::Type::UINT8:
    out.are_of<arrow::UInt8Array>(column);
    break;
  case arrow::Type::INT8:
    out.are_of<arrow::Int8Array>(column);
    break;
  case arrow::Type::UINT16:
    out.are_of<arrow::UInt16Array>(column);
    break;
  case arrow::Type::INT16:
    out.are_of<arrow::Int16Array>(column);
    break;
  case arrow::Type::UINT32:
    out.are_of<arrow::UInt32Array>(column);
    break;
  case arrow::Type::INT32:
    out.are_of<arrow::Int32Array>(column);
    break;
  case arrow::Type::UINT64:
    out.are_of<arrow::UInt64Array>(column);
    break;
  case arrow::Type::INT64:
    out.are_of<arrow::Int64Array>(column);
    break;
  case arrow::Type::FLOAT:
    out.are_of<arrow::FloatArray>(column);
    break;
  default:
    out.are_of<arrow::DoubleArray>(column);
  }
  return out;
}

bad_cell first_bad(const std::vector<typed_column>& columns, int64_t rows,
                   bool tokens) {
  for (int64_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < columns.size(); ++i)
      if (const double number = columns[i].at(columns[i].values, row);
          is_bad_number(number, tokens))
        return {row, i, number};
  return {};
}

} // namespace

bool is_bad_number(double number, bool tokens) {
  if (!std::isfinite(float(number)))
    return true;
  return tokens && !(number >= 0 && number < double(tokens_max) &&
                     number == std::trunc(number));
}

std::optional<bad_cell>
put_rows(const std::vector<const arrow::Array*>& columns, int64_t rows,
         bool tokens, float* out, number_range& range) {
  std::vector<typed_column> from;
  from.reserve(columns.size());
  for (const arrow::Array* one : columns)
    from.push_back(values_of(*one));
  const size_t width = columns.size();
  std::array<std::array<float, tile_rows>, tile_columns> tile;
  int32_t most = -1;
  bool good = true;
  for (int64_t first = 0; first < rows; first += tile_rows) {
    const int64_t here = std::min(tile_rows, rows - first);
    for (size_t left = 0; left < width; left += tile_columns) {
      const size_t across = std::min(tile_columns, width - left);
      for (size_t i = 0; i < across; ++i) {
        const typed_column& one = from[left + i];
        float* const numbers = tile[i].data();
        good &= tokens
                    ? one.convert_tokens(one.values, first, here, numbers, most)
                    : one.convert(one.values, first, here, numbers);
        if (range.int16)
          look_at_range(numbers, here, range);
      }
      float* to = out + size_t(first) * width + left;
      for (int64_t row = 0; row < here; ++row, to += width)
        for (size_t i = 0; i < across; ++i)
          to[i] = tile[i][size_t(row)];
    }
  }
  if (!good)
    return first_bad(from, rows, tokens);
  range.vocabulary = std::max(range.vocabulary, uint32_t(most + 1));
  return std::nullopt;
}

} // namespace ballast::data
