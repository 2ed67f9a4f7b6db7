/// The keys of the rows of one batch in a form that hashes and compares
/// quickly: one word each where there is one column of numbers, else the
/// columns' bytes one behind the other. Includes Arrow; for source files of
/// data/ only.
///
/// Equal as key_column.hpp has it: null equals null here. A value; any thread.
/// No errors.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace ballast::data {

class equal_keys {
public:
  /// Of columns that is_key_type() takes, all of one length; at least one.
  explicit equal_keys(const arrow::ArrayVector& columns);

  /// What keys of such types are, so that tables of them agree.
  static bool are_words(const arrow::ArrayVector& columns);

  uint32_t rows() const { return uint32_t(hashes_.size()); }
  bool are_words() const { return words_; }
  /// Of a null: 0.
  uint64_t word(uint32_t row) const { return words_of_[row]; }
  std::string_view bytes(uint32_t row) const {
    return {bytes_.data() + ends_[row], size_t(ends_[row + 1] - ends_[row])};
  }
  uint64_t hash(uint32_t row) const { return hashes_[row]; }
  /// Any of the columns is null.
  bool has_null(uint32_t row) const {
    return !nulls_.empty() && nulls_[row] != 0;
  }
  bool has_nulls() const { return !nulls_.empty(); }

private:
  void join_bytes(const arrow::ArrayVector& columns);

  bool words_;
  std::vector<uint64_t> words_of_;
  std::vector<char> bytes_;
  std::vector<uint64_t> ends_;
  std::vector<uint64_t> hashes_;
  std::vector<uint8_t> nulls_;
};

/// Of a key that is one word, and of one that is bytes.
inline uint64_t hash_of_word(uint64_t word) {
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
  word = (word ^ word >> 32) * 0xd6e8feb86659fd93;
  return word ^ word >> 32;
}
uint64_t hash_of_bytes(std::string_view bytes);

} // namespace ballast::data
