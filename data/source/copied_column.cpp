#include "data/source/copied_column.hpp"

#include "data/base/arrow_support.hpp"
#include "data/source/adbc_session.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/util/bit_util.h>

#include <algorithm>
#include <limits>

namespace ballast::data {

namespace {

constexpr int64_t days_to_2000 = 10957; // since 1970
constexpr int64_t us_of_day = 86'400'000'000;
constexpr uint32_t interval_bytes = 16;
constexpr uint32_t dimensions_max = 6; // PostgreSQL's own limit
constexpr int64_t bytes_at_first = 4096;

using interval_value = arrow::MonthDayNanoIntervalType::MonthDayNanos;

} // namespace

void refuse_copied(const std::string& why) {
  adbc_failure::parts said;
  said.message = "what the server sent is no answer of COPY: " + why;
  throw adbc_failure(std::move(said));
}

// A buffer that grows and is given away.
class copied_column::room {
public:
  uint8_t* reserve(int64_t bytes) {
    if (!buffer_)
      buffer_ = take(arrow::AllocateResizableBuffer(bytes));
    else if (buffer_->size() < bytes)
      check(buffer_->Resize(bytes, false));
    return data();
  }
  uint8_t* data() { return buffer_->mutable_data(); }
  int64_t size() const { return buffer_ ? buffer_->size() : 0; }
  std::shared_ptr<arrow::Buffer> give(int64_t bytes) {
    // What a queue counts should be what it holds.
    check(buffer_->Resize(bytes, bytes < buffer_->capacity() / 2));
    return std::move(buffer_);
  }

private:
  static constexpr const char* what = "no memory for rows of PostgreSQL";
  static void check(const arrow::Status& status) {
    check_arrow(status, errc::device_failed, what);
  }
  static std::shared_ptr<arrow::ResizableBuffer>
  take(arrow::Result<std::unique_ptr<arrow::ResizableBuffer>> result) {
    return take_arrow(std::move(result), errc::device_failed, what);
  }

  std::shared_ptr<arrow::ResizableBuffer> buffer_;
};

bool copied_column::can_read(const arrow::DataType& type) {
  switch (type.id()) {
  case arrow::Type::BOOL:
  case arrow::Type::INT16:
  case arrow::Type::INT32:
  case arrow::Type::INT64:
  case arrow::Type::FLOAT:
  case arrow::Type::DOUBLE:
  case arrow::Type::STRING:
  case arrow::Type::BINARY:
  case arrow::Type::DATE32:
  case arrow::Type::INTERVAL_MONTH_DAY_NANO:
    return true;
  case arrow::Type::TIMESTAMP:
    return static_cast<const arrow::TimestampType&>(type).unit() ==
           arrow::TimeUnit::MICRO;
  case arrow::Type::TIME64:
    return static_cast<const arrow::Time64Type&>(type).unit() ==
           arrow::TimeUnit::MICRO;
  case arrow::Type::LIST: {
    const auto& items = *static_cast<const arrow::ListType&>(type).value_type();
    return items.id() != arrow::Type::LIST && can_read(items);
  }
  default:
    return false;
  }
}

copied_column::copied_column(std::string name,
                             std::shared_ptr<arrow::DataType> type)
    : name_(std::move(name)), type_(std::move(type)),
      fixed_(std::make_unique<room>()), valid_(std::make_unique<room>()),
      bytes_(std::make_unique<room>()) {
  switch (type_->id()) {
  case arrow::Type::BOOL:
    kind_ = kind::boolean;
    break;
  case arrow::Type::STRING:
  case arrow::Type::BINARY:
    kind_ = kind::bytes;
    break;
  case arrow::Type::INTERVAL_MONTH_DAY_NANO:
    kind_ = kind::interval;
    break;
  case arrow::Type::LIST:
    kind_ = kind::list;
    items_ = std::make_unique<copied_column>(
        name_, static_cast<const arrow::ListType&>(*type_).value_type());
    break;
  default:
    width_ = uint32_t(type_->byte_width());
    if (type_->id() == arrow::Type::DATE32)
      shift_ = days_to_2000;
    else if (type_->id() == arrow::Type::TIMESTAMP)
      shift_ = days_to_2000 * us_of_day;
  }
}

copied_column::~copied_column() = default;
copied_column::copied_column(copied_column&&) noexcept = default;

int64_t copied_column::row_bytes() const {
  switch (kind_) {
  case kind::number:
    return width_;
  case kind::boolean:
    return 1;
  case kind::interval:
    return sizeof(interval_value);
  default:
    return sizeof(int32_t);
  }
}

void copied_column::reserve(int64_t rows) {
  if (rows <= rows_max_)
    return;
  const bool offsets = kind_ == kind::bytes || kind_ == kind::list;
  values_ = fixed_->reserve(kind_ == kind::boolean
                                ? arrow::bit_util::BytesForBits(rows)
                                : (rows + int64_t(offsets)) * row_bytes());
  if (offsets && rows_max_ == 0)
    store(0, int32_t(0));
  if (kind_ == kind::bytes)
    bytes_->reserve(std::max(bytes_before_, bytes_at_first));
  if (const int64_t had = valid_->size()) {
    const int64_t needed = arrow::bit_util::BytesForBits(rows);
    std::memset(valid_->reserve(needed) + had, 0xFF, size_t(needed - had));
  }
  rows_max_ = rows;
}

int32_t copied_column::offset(int64_t row) const {
  int32_t out;
  std::memcpy(&out, values_ + row * int64_t(sizeof out), sizeof out);
  return out;
}

void copied_column::put_null(int64_t row) {
  if (valid_->size() == 0) {
    const int64_t size = arrow::bit_util::BytesForBits(rows_max_);
    std::memset(valid_->reserve(size), 0xFF, size_t(size));
  }
  arrow::bit_util::ClearBit(valid_->data(), row);
  switch (kind_) {
  case kind::number:
    std::memset(values_ + row * width_, 0, width_);
    break;
  case kind::boolean: {
    const char zero = 0;
    put(row, &zero, 1);
    break;
  }
  case kind::interval:
    store(row, interval_value{0, 0, 0});
    break;
  default:
    store(row + 1, offset(row));
  }
}

void copied_column::put(int64_t row, const char* at, uint32_t length) {
  switch (kind_) {
  case kind::number:
    check_length(length, width_);
    put_number(row, at);
    break;
  case kind::boolean:
    check_length(length, 1);
    // The first bit of a byte sets all: none of them was set before.
    if (row % 8 == 0)
      values_[row / 8] = uint8_t(*at != 0);
    else
      arrow::bit_util::SetBitTo(values_, row, *at != 0);
    break;
  case kind::bytes:
    put_bytes(row, at, length);
    break;
  case kind::interval:
    check_length(length, interval_bytes);
    put_interval(row, at);
    break;
  case kind::list:
    put_list(row, at, length);
  }
}

void copied_column::put_bytes(int64_t row, const char* at, uint32_t length) {
  const int64_t from = offset(row);
  const int64_t to = from + length;
  if (to > std::numeric_limits<int32_t>::max())
    refuse("has more bytes than fit into a batch");
  if (to > bytes_->size())
    bytes_->reserve(std::max(to, 2 * bytes_->size()));
  std::memcpy(bytes_->data() + from, at, length);
  store(row + 1, int32_t(to));
}

// Microseconds, days, months.
void copied_column::put_interval(int64_t row, const char* at) {
  const auto us = int64_t(big_endian_at<uint64_t>(at));
  interval_value value{};
  value.days = int32_t(big_endian_at<uint32_t>(at + 8));
  value.months = int32_t(big_endian_at<uint32_t>(at + 12));
  if (__builtin_mul_overflow(us, int64_t(1000), &value.nanoseconds)) {
    adbc_failure::parts said; // in the driver's words
    said.message = "[libpq] Interval with time value " + std::to_string(us) +
                   " usec would overflow when converting to nanoseconds";
    throw adbc_failure(std::move(said));
  }
  store(row, value);
}

// The number of dimensions, whether there are nulls, the type; the length and
// the first index of each dimension; then the items, as fields are.
void copied_column::put_list(int64_t row, const char* at, uint32_t length) {
  constexpr uint32_t head = 12;
  constexpr uint32_t of_dimension = 8;
  const char* const end = at + length;
  const uint32_t dimensions = length < head ? 0 : big_endian_at<uint32_t>(at);
  if (length < head || dimensions > dimensions_max ||
      length < head + dimensions * of_dimension)
    refuse("has an array that is none");
  uint64_t count = dimensions == 0 ? 0 : 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    count *= big_endian_at<uint32_t>(at + head + i * of_dimension);
    if (count > length) // each has four bytes at least
      refuse("has an array with more items than bytes");
  }
  at += head + dimensions * of_dimension;
  int64_t item = offset(row);
  const int64_t items = item + int64_t(count);
  if (items > std::numeric_limits<int32_t>::max())
    refuse("has more items than fit into a batch");
  if (items > items_->rows_max_)
    items_->reserve(std::max(items, 2 * items_->rows_max_));
  for (; item < items; ++item) {
    if (end - at < 4)
      refuse("has an array that ends within an item");
    const uint32_t told = big_endian_at<uint32_t>(at);
    at += 4;
    if (told == std::numeric_limits<uint32_t>::max()) {
      items_->put_null(item);
      continue;
    }
    if (told > uint64_t(end - at))
      refuse("has an array that ends within an item");
    items_->put(item, at, told);
    at += told;
  }
  if (at != end)
    refuse("has an array that goes on behind its items");
  store(row + 1, int32_t(items));
}

std::shared_ptr<arrow::ArrayData> copied_column::take(int64_t rows) {
  reserve(std::max<int64_t>(rows, 1)); // lists may have no items at all
  const bool nulls = valid_->size() > 0;
  std::vector<std::shared_ptr<arrow::Buffer>> buffers = {
      nulls ? valid_->give(arrow::bit_util::BytesForBits(rows)) : nullptr};
  std::vector<std::shared_ptr<arrow::ArrayData>> items;
  int64_t size = rows * row_bytes();
  if (kind_ == kind::boolean)
    size = arrow::bit_util::BytesForBits(rows);
  if (kind_ == kind::bytes || kind_ == kind::list)
    size += row_bytes();
  const int64_t last =
      kind_ == kind::bytes || kind_ == kind::list ? offset(rows) : 0;
  buffers.push_back(fixed_->give(size));
  if (kind_ == kind::bytes) {
    bytes_before_ = last;
    buffers.push_back(bytes_->give(last));
  }
  if (kind_ == kind::list)
    items.push_back(items_->take(last));
  rows_max_ = 0;
  values_ = nullptr;
  return arrow::ArrayData::Make(type_, rows, std::move(buffers),
                                std::move(items),
                                nulls ? arrow::kUnknownNullCount : 0);
}

void copied_column::check_length(uint32_t length, uint32_t expected) const {
  if (length != expected)
    refuse("has a value of " + std::to_string(length) + " bytes, expected " +
           std::to_string(expected));
}

void copied_column::refuse(const std::string& why) const {
  refuse_copied("column '" + printable(name_) + "' " + why);
}

} // namespace ballast::data
