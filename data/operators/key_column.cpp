#include "data/operators/key_column.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

namespace ballast::data {

namespace {

template <class Number>
uint64_t word_of(Number number, bool descending) {
  if constexpr (std::is_floating_point_v<Number>) {
    using bits_type =
        std::conditional_t<sizeof(Number) == 8, uint64_t, uint32_t>;
    constexpr bits_type top = bits_type{1} << (8 * sizeof(Number) - 1);
    if (std::isnan(number))
      return bits_type(-1); // behind all others, whichever way they go
    auto bits = std::bit_cast<bits_type>(number);
    if (number == 0)
      bits = 0;
    bits = (bits & top) != 0 ? bits_type(~bits) : bits_type(bits | top);
    return descending ? bits_type(~bits) : bits;
  } else if constexpr (std::is_signed_v<Number>) {
    using bits_type = std::make_unsigned_t<Number>;
    constexpr auto top = bits_type(bits_type{1} << (8 * sizeof(Number) - 1));
    const auto bits = bits_type(bits_type(number) ^ top);
    return descending ? bits_type(~bits) : bits;
  } else {
    return descending ? Number(~number) : number;
  }
}

/// Exact as a double, so that the order and the equality are those of numbers.
float half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float out = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
              : exponent == 0
                  ? std::ldexp(float(fraction), -24)
                  : std::ldexp(float(fraction + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -out : out;
}

template <class Number>
void fill(const arrow::Array& column, bool descending,
          large_vector<uint64_t>& out) {
  const auto* values =
      column.data()->GetValues<Number>(1); // offset applied by Arrow
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = word_of(values[i], descending);
}

/// How an array stores the numbers of a type: bytes of one, and as what.
enum class stored_as : uint8_t {
  nothing,
  is_bool,
  is_uint,
  is_int,
  is_half,
  is_real
};

stored_as storage_of(const arrow::DataType& type) {
  switch (type.id()) {
  case arrow::Type::BOOL:
    return stored_as::is_bool;
  case arrow::Type::UINT8:
  case arrow::Type::UINT16:
  case arrow::Type::UINT32:
  case arrow::Type::UINT64:
    return stored_as::is_uint;
  case arrow::Type::INT8:
  case arrow::Type::INT16:
  case arrow::Type::INT32:
  case arrow::Type::INT64:
  case arrow::Type::DATE32:
  case arrow::Type::DATE64:
  case arrow::Type::TIME32:
  case arrow::Type::TIME64:
  case arrow::Type::TIMESTAMP:
  case arrow::Type::DURATION:
  case arrow::Type::DECIMAL32:
  case arrow::Type::DECIMAL64:
    return stored_as::is_int;
  case arrow::Type::HALF_FLOAT:
    return stored_as::is_half;
  case arrow::Type::FLOAT:
  case arrow::Type::DOUBLE:
    return stored_as::is_real;
  default:
    return stored_as::nothing;
  }
}

uint64_t first_bytes(std::string_view text) {
  uint64_t out = 0;
  if (!text.empty()) // of a column of empty texts there may be no bytes at all
    std::memcpy(&out, text.data(), std::min<size_t>(8, text.size()));
  return __builtin_bswap64(out);
}

} // namespace

bool is_key_type(const arrow::DataType& type) {
  if (storage_of(type) != stored_as::nothing)
    return true;
  switch (type.id()) {
  case arrow::Type::NA:
  case arrow::Type::STRING:
  case arrow::Type::BINARY:
  case arrow::Type::LARGE_STRING:
  case arrow::Type::LARGE_BINARY:
  case arrow::Type::STRING_VIEW:
  case arrow::Type::BINARY_VIEW:
  case arrow::Type::FIXED_SIZE_BINARY:
  case arrow::Type::DECIMAL128:
  case arrow::Type::DECIMAL256:
    return true;
  default:
    return false;
  }
}

key_column::key_column(std::shared_ptr<arrow::Array> column, key_use use)
    : column_(std::move(column)), rows_(column_->length()),
      descending_(use == key_use::descending) {
  if (column_->type_id() == arrow::Type::NA) {
    all_null_ = true;
    width_ = 1;
    words_.assign(size_t(rows_), 0);
    return;
  }
  if (column_->null_count() > 0) {
    nulls_ = column_->null_bitmap_data();
    null_offset_ = column_->offset();
  }
  if (storage_of(*column_->type()) != stored_as::nothing) {
    read_words(*column_);
    return;
  }
  read_text(*column_);
  if (use != key_use::equality)
    begin_words();
}

void key_column::read_words(const arrow::Array& column) {
  words_.resize(size_t(rows_));
  width_ = column.type()->byte_width();
  switch (storage_of(*column.type())) {
  case stored_as::is_bool:
    width_ = 1;
    for (size_t i = 0; i < words_.size(); ++i)
      words_[i] = word_of<uint8_t>(
          static_cast<const arrow::BooleanArray&>(column).Value(int64_t(i)),
          descending_);
    return;
  case stored_as::is_half: {
    const auto* values = column.data()->GetValues<uint16_t>(1);
    width_ = 4;
    for (size_t i = 0; i < words_.size(); ++i)
      words_[i] = word_of(half_value(values[i]), descending_);
    return;
  }
  case stored_as::is_real:
    return width_ == 8 ? fill<double>(column, descending_, words_)
                       : fill<float>(column, descending_, words_);
  case stored_as::is_uint:
    return width_ == 8   ? fill<uint64_t>(column, descending_, words_)
           : width_ == 4 ? fill<uint32_t>(column, descending_, words_)
           : width_ == 2 ? fill<uint16_t>(column, descending_, words_)
                         : fill<uint8_t>(column, descending_, words_);
  default:
    return width_ == 8   ? fill<int64_t>(column, descending_, words_)
           : width_ == 4 ? fill<int32_t>(column, descending_, words_)
           : width_ == 2 ? fill<int16_t>(column, descending_, words_)
                         : fill<int8_t>(column, descending_, words_);
  }
}

void key_column::read_text(const arrow::Array& column) {
  switch (column.type_id()) {
  case arrow::Type::STRING:
  case arrow::Type::BINARY: {
    const auto& texts = static_cast<const arrow::BinaryArray&>(column);
    ends_ = texts.raw_value_offsets();
    text_ = reinterpret_cast<const char*>(texts.raw_data());
    return;
  }
  case arrow::Type::LARGE_STRING:
  case arrow::Type::LARGE_BINARY: {
    const auto& texts = static_cast<const arrow::LargeBinaryArray&>(column);
    long_ends_ = texts.raw_value_offsets();
    text_ = reinterpret_cast<const char*>(texts.raw_data());
    return;
  }
  case arrow::Type::STRING_VIEW:
  case arrow::Type::BINARY_VIEW:
    return read_views(column);
  case arrow::Type::DECIMAL128:
    return read_decimals(column, 16);
  case arrow::Type::DECIMAL256:
    return read_decimals(column, 32);
  default: {
    const auto& texts = static_cast<const arrow::FixedSizeBinaryArray&>(column);
    stride_ = size_t(texts.byte_width());
    text_ = reinterpret_cast<const char*>(texts.raw_values());
    if (stride_ == 0) { // each is the same: no byte
      own_ends_.assign(size_t(rows_) + 1, 0);
      long_ends_ = own_ends_.data();
    }
  }
  }
}

void key_column::read_views(const arrow::Array& column) {
  const auto& views = static_cast<const arrow::BinaryViewArray&>(column);
  own_ends_.reserve(size_t(rows_) + 1);
  own_ends_.push_back(0);
  for (int64_t i = 0; i < rows_; ++i) {
    if (!views.IsNull(i)) {
      const std::string_view text = views.GetView(i);
      own_text_.insert(own_text_.end(), text.begin(), text.end());
    }
    own_ends_.push_back(int64_t(own_text_.size()));
  }
  long_ends_ = own_ends_.data();
  text_ = own_text_.data();
}

/// Two's complement, the lowest byte first: from the highest on, with the sign
/// turned, it compares as bytes do.
void key_column::read_decimals(const arrow::Array& column, int bytes) {
  const auto& values = static_cast<const arrow::FixedSizeBinaryArray&>(column);
  stride_ = size_t(bytes);
  own_text_.resize(size_t(rows_) * stride_);
  for (int64_t i = 0; i < rows_; ++i) {
    const uint8_t* from = values.GetValue(i);
    char* to = own_text_.data() + size_t(i) * stride_;
    for (size_t k = 0; k < stride_; ++k)
      to[k] = char(from[stride_ - 1 - k]);
    to[0] = char(to[0] ^ 0x80);
  }
  text_ = own_text_.data();
}

void key_column::begin_words() {
  words_.resize(size_t(rows_));
  for (size_t i = 0; i < words_.size(); ++i) {
    const uint64_t word = first_bytes(text(uint32_t(i)));
    words_[i] = descending_ ? ~word : word;
  }
}

int key_column::compare(uint32_t row, const key_column& other,
                        uint32_t its) const {
  const bool null = is_null(row);
  const bool its_null = other.is_null(its);
  if (null || its_null)
    return int(null) - int(its_null);
  if (words_[row] != other.words_[its])
    return words_[row] < other.words_[its] ? -1 : 1;
  if (exact())
    return 0;
  const int order = text(row).compare(other.text(its));
  return descending_ ? -order : order;
}

int compare_rows(const std::vector<key_column>& keys, uint32_t row,
                 const std::vector<key_column>& others, uint32_t its) {
  for (size_t i = 0; i < keys.size(); ++i)
    if (const int order = keys[i].compare(row, others[i], its); order != 0)
      return order;
  return 0;
}

} // namespace ballast::data
