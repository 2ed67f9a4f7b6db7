/// A column by which rows are sorted or compared, as numbers that compare like
/// its values: an int64, a date or a double becomes one word, of a text the
/// first eight bytes do. Includes Arrow; for source files of data/ only.
///
/// The order: numbers, then NaN, then null, whichever way the numbers go. -0.0
/// equals 0.0, NaN equals NaN, texts compare by their bytes. A value that keeps
/// its column alive; any thread once built. No errors: ask is_key_type() first.
#pragma once

#include "data/operators/large_pages.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace ballast::data {

enum class key_use : uint8_t { ascending, descending, equality };

/// False for lists, structs and whatever else has no order.
bool is_key_type(const arrow::DataType& type);

class key_column {
public:
  key_column(std::shared_ptr<arrow::Array> column, key_use use);
  key_column(key_column&&) = default; // views into itself stay where they are
  key_column& operator=(key_column&&) = default;

  int64_t rows() const { return rows_; }
  bool has_nulls() const { return nulls_ != nullptr; }
  bool is_null(uint32_t row) const {
    if (nulls_ == nullptr)
      return all_null_;
    const uint64_t bit = uint64_t(null_offset_) + row;
    return (nulls_[bit >> 3] >> (bit & 7) & 1) == 0;
  }
  bool all_null() const { return all_null_; }

  /// False: a word is only the begin of a text.
  bool exact() const { return width_ != 0; }
  /// Bytes that differ, from the lowest on; 0: a text.
  int width() const { return width_; }
  /// Of a null: anything. None for texts that are only compared for equality.
  const large_vector<uint64_t>& words() const { return words_; }
  /// Where !exact().
  std::string_view text(uint32_t row) const {
    if (stride_ != 0)
      return {text_ + size_t(row) * stride_, stride_};
    if (ends_ != nullptr)
      return {text_ + ends_[row], size_t(ends_[row + 1] - ends_[row])};
    return {text_ + long_ends_[row],
            size_t(long_ends_[row + 1] - long_ends_[row])};
  }
  /// Below 0, 0, above 0: in the order of the column, nulls last.
  int compare(uint32_t row, const key_column& other, uint32_t its) const;

private:
  void read_words(const arrow::Array& column);
  void read_text(const arrow::Array& column);
  void read_views(const arrow::Array& column);
  void read_decimals(const arrow::Array& column, int bytes);
  void begin_words();

  std::shared_ptr<arrow::Array> column_;
  int64_t rows_ = 0;
  bool descending_ = false;
  bool all_null_ = false;
  const uint8_t* nulls_ = nullptr;
  int64_t null_offset_ = 0;
  int width_ = 0;
  large_vector<uint64_t> words_;
  const char* text_ = nullptr;
  const int32_t* ends_ = nullptr;
  const int64_t* long_ends_ = nullptr;
  size_t stride_ = 0;
  // Of types whose bytes have to be brought into an order.
  std::vector<char> own_text_;
  std::vector<int64_t> own_ends_;
};

/// The first difference in a list of columns; rows that are equal give 0.
int compare_rows(const std::vector<key_column>& keys, uint32_t row,
                 const std::vector<key_column>& others, uint32_t its);

} // namespace ballast::data
