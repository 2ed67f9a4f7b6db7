#include "data/operators/equal_keys.hpp"

#include "data/operators/key_column.hpp"

#define XXH_INLINE_ALL // short keys: a call costs more than the hash
#include <xxhash.h>

#include <arrow/api.h>

#include <cstring>

namespace ballast::data {

namespace {

/// A text has its length before it, so that ("a", "bc") is not ("ab", "c").
void place_column(const key_column& key, size_t number,
                  std::vector<char>& bytes, std::vector<uint64_t>& at,
                  const std::vector<uint64_t>& begins) {
  const auto width = size_t(key.width());
  const bool nulls = key.has_nulls() || key.all_null();
  for (uint32_t row = 0; row < at.size(); ++row) {
    if (nulls && key.is_null(row)) {
      bytes[begins[row] + number / 8] |= char(1 << number % 8);
      continue;
    }
    char* to = bytes.data() + at[row];
    if (width != 0) {
      std::memcpy(to, &key.words()[row], width);
      at[row] += width;
      continue;
    }
    const std::string_view text = key.text(row);
    const auto size = uint32_t(text.size());
    std::memcpy(to, &size, sizeof size);
    std::memcpy(to + sizeof size, text.data(), text.size());
    at[row] += sizeof size + text.size();
  }
}

/// Of each row; 0 for a null.
void add_sizes(const key_column& key, std::vector<uint64_t>& sizes) {
  const bool nulls = key.has_nulls() || key.all_null();
  for (uint32_t row = 0; row < sizes.size() - 1; ++row)
    if (!nulls || !key.is_null(row))
      sizes[row + 1] += key.exact() ? uint64_t(key.width())
                                    : sizeof(uint32_t) + key.text(row).size();
}

} // namespace

uint64_t hash_of_bytes(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

bool equal_keys::are_words(const arrow::ArrayVector& columns) {
  if (columns.size() != 1)
    return false;
  const arrow::Type::type id = columns[0]->type_id();
  return id == arrow::Type::NA || id == arrow::Type::BOOL ||
         (arrow::is_primitive(id) &&
          id != arrow::Type::INTERVAL_MONTH_DAY_NANO) ||
         id == arrow::Type::DECIMAL32 || id == arrow::Type::DECIMAL64;
}

equal_keys::equal_keys(const arrow::ArrayVector& columns)
    : words_(are_words(columns)), hashes_(size_t(columns[0]->length())) {
  if (!words_) {
    join_bytes(columns);
    for (uint32_t row = 0; row < hashes_.size(); ++row)
      hashes_[row] = hash_of_bytes(bytes(row));
    return;
  }
  const key_column key(columns[0], key_use::equality);
  words_of_.assign(key.words().begin(), key.words().end());
  if (key.has_nulls() || key.all_null()) {
    nulls_.resize(hashes_.size());
    for (uint32_t row = 0; row < hashes_.size(); ++row)
      if (key.is_null(row)) {
        nulls_[row] = 1;
        words_of_[row] = 0;
      }
  }
  for (uint32_t row = 0; row < hashes_.size(); ++row)
    hashes_[row] = hash_of_word(words_of_[row]);
}

void equal_keys::join_bytes(const arrow::ArrayVector& columns) {
  std::vector<key_column> keys;
  for (const std::shared_ptr<arrow::Array>& column : columns) {
    keys.emplace_back(column, key_use::equality);
    if (!keys.back().has_nulls() && !keys.back().all_null())
      continue;
    nulls_.resize(hashes_.size());
    for (uint32_t row = 0; row < nulls_.size(); ++row)
      nulls_[row] |= uint8_t(keys.back().is_null(row));
  }
  const size_t null_bytes = (columns.size() + 7) / 8;
  ends_.assign(hashes_.size() + 1, null_bytes);
  ends_[0] = 0;
  for (const key_column& key : keys)
    add_sizes(key, ends_);
  for (size_t row = 0; row < hashes_.size(); ++row)
    ends_[row + 1] += ends_[row];
  bytes_.resize(ends_.back());
  std::vector<uint64_t> at(ends_.begin(), ends_.end() - 1);
  for (uint64_t& one : at)
    one += null_bytes;
  for (size_t i = 0; i < keys.size(); ++i)
    place_column(keys[i], i, bytes_, at, ends_);
}

} // namespace ballast::data
