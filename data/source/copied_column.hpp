/// One column of what PostgreSQL sends for COPY in binary: the bytes of a value
/// become those of Arrow in buffers that have room for all rows of a batch.
/// Includes Arrow; for source files of data/ only. Pure; one thread.
///
/// A value may be put again in its row, as long as none is put behind it: so a
/// row is tried, and tried again when all of it is there.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// The number at these bytes, the highest of which comes first.
template <class T>
T big_endian_at(const char* at) {
  T out;
  std::memcpy(&out, at, sizeof out);
  if constexpr (sizeof out == 2)
    return T(__builtin_bswap16(out));
  else if constexpr (sizeof out == 4)
    return T(__builtin_bswap32(out));
  else
    return T(__builtin_bswap64(out));
}

/// adbc_failure: the server sent something else than an answer of COPY.
[[noreturn]] void refuse_copied(const std::string& why);

class copied_column {
public:
  static bool can_read(const arrow::DataType& type);

  copied_column(std::string name, std::shared_ptr<arrow::DataType> type);
  ~copied_column();
  copied_column(copied_column&&) noexcept;
  copied_column& operator=(copied_column&&) = delete;

  /// Bytes of a row in the buffers, as far as all rows have the same.
  int64_t row_bytes() const;
  /// Keeps the rows that are there, and makes room for so many in all.
  void reserve(int64_t rows);

  /// The length of a value that put_number() takes; of no value of a column
  /// that holds others.
  uint32_t width() const { return width_; }
  void put_number(int64_t row, const char* at) {
    if (width_ == sizeof(uint64_t))
      store(row, big_endian_at<uint64_t>(at) + shift_);
    else if (width_ == sizeof(uint32_t))
      store(row, big_endian_at<uint32_t>(at) + uint32_t(shift_));
    else
      store(row, big_endian_at<uint16_t>(at));
  }
  void put_null(int64_t row);
  /// A value of any type.
  void put(int64_t row, const char* at, uint32_t length);

  /// The first `rows` rows; the column is without rows, and room, then.
  std::shared_ptr<arrow::ArrayData> take(int64_t rows);

private:
  enum class kind : uint8_t { number, boolean, bytes, interval, list };
  class room;

  template <class T>
  void store(int64_t row, T value) {
    std::memcpy(values_ + row * int64_t(sizeof value), &value, sizeof value);
  }
  int32_t offset(int64_t row) const;
  void put_bytes(int64_t row, const char* at, uint32_t length);
  void put_interval(int64_t row, const char* at);
  void put_list(int64_t row, const char* at, uint32_t length);
  void check_length(uint32_t length, uint32_t expected) const;
  [[noreturn]] void refuse(const std::string& why) const;

  std::string name_;
  std::shared_ptr<arrow::DataType> type_;
  kind kind_ = kind::number;
  uint32_t width_ = UINT32_MAX;
  uint64_t shift_ = 0;        // from PostgreSQL's epoch to that of Arrow
  uint8_t* values_ = nullptr; // numbers, bits, or offsets
  int64_t rows_max_ = 0;      // there is room for
  int64_t bytes_before_ = 0;  // of the batch before
  std::unique_ptr<room> fixed_, valid_, bytes_;
  std::unique_ptr<copied_column> items_; // of lists
};

} // namespace ballast::data
