#include "data/operators/near_duplicates.hpp"

#include "runtime/base/random.hpp"
#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <xxhash.h>

namespace ballast::data {

namespace {

constexpr double found_with = 0.99;

/// Lowers each minimum to what its permutation makes of a number. The second
/// step mixes the high bits of the first in.
BALLAST_VECTORIZED
void lower_minima(uint32_t x, const uint32_t* factors, const uint32_t* terms,
                  uint32_t* minima, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t y = x * factors[i] + terms[i];
    y = (y ^ y >> 15) * 0x2C1B3C6D;
    minima[i] = y < minima[i] ? y : minima[i];
  }
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Where each character of UTF-8 begins, and where the last ends.
void find_characters(std::string_view text, std::vector<size_t>& at) {
  at.clear();
  for (size_t i = 0; i < text.size(); ++i)
    if ((uint8_t(text[i]) & 0xC0) != 0x80)
      at.push_back(i);
  at.push_back(text.size());
}

void add_characters(std::string_view text, uint64_t size, uint64_t column,
                    std::vector<uint64_t>& out) {
  std::vector<size_t> at;
  find_characters(text, at);
  const size_t count = at.size() - 1;
  for (size_t i = 0; i + size <= count; ++i)
    out.push_back(XXH3_64bits_withSeed(text.data() + at[i],
                                       at[i + size] - at[i], column));
  if (count < size)
    out.push_back(XXH3_64bits_withSeed(text.data(), text.size(), column));
}

/// However much space is between two words.
void add_words(std::string_view text, uint64_t size, uint64_t column,
               std::vector<uint64_t>& out) {
  std::vector<uint64_t> words;
  for (size_t i = 0; i < text.size();) {
    while (i < text.size() && is_space(text[i]))
      ++i;
    const size_t begin = i;
    while (i < text.size() && !is_space(text[i]))
      ++i;
    if (i > begin)
      words.push_back(XXH3_64bits(text.data() + begin, i - begin));
  }
  const size_t count = words.size();
  for (size_t i = 0; i + size <= count; ++i)
    out.push_back(XXH3_64bits_withSeed(words.data() + i,
                                       size * sizeof(uint64_t), column));
  if (count < size)
    out.push_back(
        XXH3_64bits_withSeed(words.data(), count * sizeof(uint64_t), column));
}

} // namespace

uint64_t bands_for(double similarity, uint64_t permutations) {
  for (uint64_t rows = permutations; rows > 1; --rows) {
    const auto bands = permutations / rows;
    const double missed =
        std::pow(1 - std::pow(similarity, double(rows)), double(bands));
    if (1 - missed >= found_with)
      return bands;
  }
  return permutations;
}

void row_text::add(kind what, std::string_view cell) {
  const uint64_t size = cell.size();
  bytes_ += char(what);
  bytes_.append(reinterpret_cast<const char*>(&size), sizeof size);
  bytes_ += cell;
}

std::vector<uint64_t> shingles_of(std::string_view row,
                                  const near_terms& terms) {
  std::vector<uint64_t> out;
  for (uint64_t column = 0; !row.empty(); ++column) {
    uint64_t size = 0;
    std::memcpy(&size, row.data() + 1, sizeof size);
    const auto kind = row_text::kind(row[0]);
    const std::string_view cell = row.substr(1 + sizeof size, size);
    row.remove_prefix(1 + sizeof size + size);
    // A value, a missing one and a text are never alike.
    const uint64_t seed = 3 * column + uint64_t(kind);
    if (kind != row_text::kind::text)
      out.push_back(XXH3_64bits_withSeed(cell.data(), cell.size(), seed));
    else if (terms.words)
      add_words(cell, terms.shingle, seed, out);
    else
      add_characters(cell, terms.shingle, seed, out);
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

double jaccard(std::span<const uint64_t> a, std::span<const uint64_t> b) {
  size_t common = 0;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    common += a[i] == b[j] ? 1 : 0;
    const bool first = a[i] <= b[j], second = b[j] <= a[i];
    i += first ? 1 : 0;
    j += second ? 1 : 0;
  }
  return double(common) / double(a.size() + b.size() - common);
}

min_hash::min_hash(const near_terms& terms)
    : bands_(terms.bands > 0 ? terms.bands
                             : bands_for(terms.similarity, terms.permutations)),
      rows_(terms.permutations / bands_) {
  const counter_random random(0, 0x6d696e68617368); // "minhash"
  for (size_t i = 0; i < bands_ * rows_; ++i) {
    factors_.push_back(uint32_t(random.at(2 * i)) | 1);
    terms_.push_back(uint32_t(random.at(2 * i + 1)));
  }
}

void min_hash::keys_of(std::span<const uint64_t> shingles,
                       std::span<uint64_t> keys) const {
  const size_t count = factors_.size();
  std::vector<uint32_t> least(count, std::numeric_limits<uint32_t>::max());
  for (const uint64_t one : shingles)
    lower_minima(uint32_t(one ^ one >> 32), factors_.data(), terms_.data(),
                 least.data(), count);
  for (size_t b = 0; b < bands_; ++b)
    keys[b] = XXH3_64bits_withSeed(least.data() + b * rows_,
                                   rows_ * sizeof(uint32_t), b);
}

near_index::near_index(const near_terms& terms)
    : terms_(terms), table_(1024, entry{}) {}

void near_index::expect(std::span<const uint64_t> keys) const {
  for (const uint64_t key : keys)
    __builtin_prefetch(&table_[key & (table_.size() - 1)], 1);
}

std::optional<near_index::match>
near_index::add(std::string_view row, std::span<const uint64_t> shingles,
                std::span<const uint64_t> keys) {
  candidates(keys);
  for (const uint32_t kept : found_)
    if (const double alike =
            jaccard(shingles, shingles_of(text_of(kept), terms_));
        alike >= terms_.similarity)
      return match{kept, alike};
  keep(row, keys);
  return std::nullopt;
}

void near_index::keep(std::string_view row, std::span<const uint64_t> keys) {
  const auto own = uint32_t(ends_.size());
  texts_.insert(texts_.end(), row.begin(), row.end());
  ends_.push_back(texts_.size());
  for (const uint64_t key : keys)
    insert({key, own});
}

uint64_t near_index::bytes() const {
  return texts_.capacity() + ends_.capacity() * sizeof(uint64_t) +
         table_.size() * sizeof(entry);
}

std::string_view near_index::text_of(uint32_t kept) const {
  const uint64_t begin = kept == 0 ? 0 : ends_[kept - 1];
  return {texts_.data() + begin, ends_[kept] - begin};
}

/// In order, each once.
void near_index::candidates(std::span<const uint64_t> keys) {
  found_.clear();
  const size_t mask = table_.size() - 1;
  for (const uint64_t key : keys)
    for (size_t at = key & mask; table_[at].kept != UINT32_MAX;
         at = (at + 1) & mask)
      if (table_[at].key == key)
        found_.push_back(table_[at].kept);
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
}

void near_index::insert(const entry& one) {
  if (2 * (entries_ + 1) > table_.size())
    grow();
  const size_t mask = table_.size() - 1;
  size_t at = one.key & mask;
  while (table_[at].kept != UINT32_MAX)
    at = (at + 1) & mask;
  table_[at] = one;
  ++entries_;
}

void near_index::grow() {
  const large_vector<entry> old =
      std::exchange(table_, large_vector<entry>(2 * table_.size(), entry{}));
  entries_ = 0;
  for (const entry& one : old)
    if (one.kept != UINT32_MAX)
      insert(one);
}

} // namespace ballast::data
