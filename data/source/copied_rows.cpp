#include "data/source/copied_rows.hpp"

#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <limits>

namespace ballast::data {

namespace {

constexpr std::string_view signature{"PGCOPY\n\xff\r\n\0", 11};
constexpr size_t header_bytes = signature.size() + 8; // flags, and a length
constexpr uint32_t flags_that_matter = 0xFFFF0000;
constexpr uint32_t extension_bytes_max = 1 << 20;
// No message of PostgreSQL is larger. A length that is rubbish ends here.
constexpr size_t row_bytes_max = 1 << 30;
constexpr uint32_t is_null = std::numeric_limits<uint32_t>::max();
constexpr size_t of_length = sizeof(uint32_t);
constexpr size_t of_count = sizeof(uint16_t);
constexpr uint16_t is_end = std::numeric_limits<uint16_t>::max();

} // namespace

bool copied_rows::can_read(const arrow::Schema& schema) {
  return std::all_of(
      schema.fields().begin(), schema.fields().end(),
      [](const auto& one) { return copied_column::can_read(*one->type()); });
}

copied_rows::copied_rows(std::shared_ptr<arrow::Schema> schema,
                         int64_t batch_bytes)
    : schema_(std::move(schema)), batch_bytes_(batch_bytes) {
  int64_t row_bytes = of_count;
  for (const auto& field : schema_->fields()) {
    columns_.emplace_back(field->name(), field->type());
    row_bytes += int64_t(of_length) + columns_.back().row_bytes();
  }
  rows_max_ = std::max<int64_t>(1, batch_bytes / row_bytes);
}

size_t copied_rows::add(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size() && !full()) {
    const std::string_view rest = bytes.substr(taken);
    if (carried_.empty()) {
      const size_t used = decode(rest.data(), rest.size());
      taken += used;
      if (used == 0) {
        carried_ = rest;
        return bytes.size();
      }
      continue;
    }
    const size_t more = std::min(rest.size(), wanted_ - carried_.size());
    carried_ += rest.substr(0, more);
    taken += more;
    // Looked at before it is decoded, so that nothing is copied in vain however
    // small the pieces are.
    if (carried_.size() == wanted_ && whole(carried_.data(), carried_.size()) &&
        decode(carried_.data(), carried_.size()) > 0)
      carried_.clear();
  }
  return taken;
}

// How many bytes the next thing had; 0: not all of it is there.
size_t copied_rows::decode(const char* at, size_t size) {
  switch (state_) {
  case state::header:
    return decode_header(at, size);
  case state::rows:
    return decode_row(at, size);
  case state::ended:
    break;
  }
  refuse_copied("it goes on behind its end");
}

size_t copied_rows::decode_header(const char* at, size_t size) {
  const size_t known = std::min(size, signature.size());
  if (std::string_view(at, known) != signature.substr(0, known))
    refuse_copied("it begins with other bytes than the binary format does");
  if (size < header_bytes)
    return wait_for(header_bytes);
  const auto flags = big_endian_at<uint32_t>(at + signature.size());
  if ((flags & flags_that_matter) != 0)
    refuse_copied("it has flags (" + std::to_string(flags) +
                  ") of a format that is not known here");
  const auto extension = big_endian_at<uint32_t>(at + header_bytes - of_length);
  if (extension > extension_bytes_max)
    refuse_copied("it has a header of " + std::to_string(extension) +
                  " more bytes");
  if (size - header_bytes < extension)
    return wait_for(header_bytes + extension);
  state_ = state::rows;
  return header_bytes + extension;
}

size_t copied_rows::decode_row(const char* at, size_t size) {
  if (size < of_count)
    return wait_for(of_count);
  const auto count = big_endian_at<uint16_t>(at);
  if (count == is_end) {
    state_ = state::ended;
    return of_count;
  }
  if (count != columns_.size())
    refuse_copied("a row has " + std::to_string(count) + " fields, expected " +
                  std::to_string(columns_.size()));
  if (rows_ == 0)
    for (copied_column& one : columns_)
      one.reserve(rows_max_);
  size_t used = of_count;
  for (copied_column& one : columns_) {
    if (size - used < of_length)
      return wait_for(used + of_length);
    const auto length = big_endian_at<uint32_t>(at + used);
    used += of_length;
    if (length == is_null) {
      one.put_null(rows_);
      continue;
    }
    if (size - used < length)
      return wait_for(used + length);
    if (length == one.width())
      one.put_number(rows_, at + used);
    else
      one.put(rows_, at + used, length);
    used += length;
  }
  ++rows_;
  bytes_ += int64_t(used);
  return used;
}

// Whether a row is complete; of anything else decode() finds that out.
bool copied_rows::whole(const char* at, size_t size) {
  if (state_ != state::rows || big_endian_at<uint16_t>(at) != columns_.size())
    return true;
  size_t used = of_count;
  for (size_t i = 0; i < columns_.size(); ++i) {
    used += of_length;
    if (size < used)
      return wait_for(used) != 0;
    const auto length = big_endian_at<uint32_t>(at + used - of_length);
    used += length == is_null ? 0 : length;
    if (size < used)
      return wait_for(used) != 0;
  }
  return true;
}

size_t copied_rows::wait_for(size_t size) {
  if (size > row_bytes_max)
    refuse_copied("a row is larger than " + std::to_string(row_bytes_max) +
                  " bytes");
  wanted_ = size;
  return 0;
}

std::shared_ptr<arrow::RecordBatch> copied_rows::take() {
  if (rows_ == 0)
    return nullptr;
  std::vector<std::shared_ptr<arrow::ArrayData>> columns;
  for (copied_column& one : columns_)
    columns.push_back(one.take(rows_));
  auto out = arrow::RecordBatch::Make(schema_, rows_, std::move(columns));
  rows_ = 0;
  bytes_ = 0;
  return out;
}

void copied_rows::check_end() const {
  if (state_ != state::ended || !carried_.empty())
    refuse_copied(carried_.empty() ? "it has no end" : "it ends within a row");
}

} // namespace ballast::data
