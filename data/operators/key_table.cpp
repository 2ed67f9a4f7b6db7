#include "data/operators/key_table.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace ballast::data {

namespace {

constexpr int bits_at_first = 8;
// How far ahead memory is asked for: most tables are larger than any cache.
constexpr uint32_t slots_ahead = 16;
constexpr uint32_t texts_ahead = 8;
constexpr uint32_t gap = UINT32_MAX; // instead of a size: go to the next block

uint64_t place_in(uint64_t slot) {
  return (slot & ((uint64_t{1} << 48) - 1)) - 1;
}

uint64_t slot_of(uint64_t hash, uint64_t place) {
  return (hash >> 16 & 0xffff) << 48 | (place + 1);
}

} // namespace

uint64_t key_table::key_bytes::add(std::string_view bytes, uint32_t number) {
  const uint64_t size = head + bytes.size();
  const uint64_t rest = (block - end_ % block) % block;
  if (size > rest) {
    if (rest >= head)
      std::memcpy(blocks_[end_ / block] + end_ % block, &gap, sizeof gap);
    end_ += rest;
    const uint64_t count = (size + block - 1) / block;
    owned_.push_back(std::make_unique_for_overwrite<char[]>(count * block));
    for (uint64_t i = 0; i < count; ++i)
      blocks_.push_back(owned_.back().get() + i * block);
  }
  const uint64_t place = end_;
  char* to = blocks_[place / block] + place % block;
  const auto length = uint32_t(bytes.size());
  std::memcpy(to, &length, sizeof length);
  std::memcpy(to + sizeof length, &number, sizeof number);
  std::memcpy(to + head, bytes.data(), bytes.size());
  end_ += size;
  return place;
}

std::string_view key_table::key_bytes::at(uint64_t place) const {
  uint32_t length = 0;
  std::memcpy(&length, data(place), sizeof length);
  return {data(place) + head, length};
}

uint32_t key_table::key_bytes::number_at(uint64_t place) const {
  uint32_t number = 0;
  std::memcpy(&number, data(place) + sizeof number, sizeof number);
  return number;
}

uint64_t key_table::key_bytes::after(uint64_t place) const {
  const uint64_t next = place + head + at(place).size();
  const uint64_t rest = (block - next % block) % block;
  if (next >= end_ || rest == 0)
    return next;
  uint32_t length = gap;
  if (rest >= head)
    std::memcpy(&length, data(next), sizeof length);
  return length == gap ? next + rest : next;
}

key_table::key_table(bool words, bool numbered, int64_t bytes_max)
    : words_(words), numbered_(numbered), bytes_max_(bytes_max),
      bits_(bits_at_first), slots_(size_t{1} << bits_at_first, 0) {
  if (words_ && numbered_)
    number_of_.resize(slots_.size());
}

int64_t key_table::bytes() const {
  return int64_t(slots_.size() * sizeof(uint64_t) +
                 number_of_.size() * sizeof(uint32_t)) +
         texts_.bytes();
}

uint64_t key_table::slot_of_word(uint64_t word, uint64_t hash) const {
  const uint64_t mask = slots_.size() - 1;
  uint64_t slot = hash >> (64 - bits_);
  while (slots_[slot] != word && slots_[slot] != 0)
    slot = (slot + 1) & mask;
  return slot;
}

uint64_t key_table::slot_of_bytes(std::string_view bytes, uint64_t hash) const {
  const uint64_t mask = slots_.size() - 1;
  uint64_t slot = hash >> (64 - bits_);
  for (; slots_[slot] != 0; slot = (slot + 1) & mask)
    if (slots_[slot] >> 48 == (hash >> 16 & 0xffff) &&
        texts_.at(place_in(slots_[slot])) == bytes)
      break;
  return slot;
}

/// For one more key with `more` bytes of its own.
bool key_table::makes_room(int64_t more) {
  if (full_ || count_ == absent - 1) {
    full_ = true;
    return false;
  }
  const bool grows = (uint64_t(count_) + 1) * 4 > slots_.size() * 3;
  const int64_t slots = int64_t(slots_.size() * sizeof(uint64_t) +
                                number_of_.size() * sizeof(uint32_t));
  // While it grows it holds both.
  if (bytes() + more + (grows ? 2 * slots : 0) > bytes_max_) {
    full_ = true;
    return false;
  }
  if (grows)
    grow();
  return true;
}

void key_table::grow() {
  ++bits_;
  const large_vector<uint64_t> old = std::exchange(
      slots_, large_vector<uint64_t>(size_t{1} << bits_, uint64_t{0}));
  if (!words_)
    return place_again();
  const large_vector<uint32_t> old_numbers = std::exchange(
      number_of_, large_vector<uint32_t>(numbered_ ? slots_.size() : 0));
  // In the order of their hashes, so that the new slots are near each other.
  for (size_t i = 0; i < old.size(); ++i) {
    if (old[i] == 0)
      continue;
    const uint64_t slot = slot_of_word(old[i], hash_of_word(old[i]));
    slots_[slot] = old[i];
    if (numbered_)
      number_of_[slot] = old_numbers[i];
  }
}

/// Texts, in the order in which they lie; their slots are all over the table.
void key_table::place_again() {
  struct waiting {
    uint64_t hash;
    uint64_t place;
  };
  std::array<waiting, slots_ahead> some;
  const uint64_t mask = slots_.size() - 1;
  size_t count = 0;
  const auto put = [&](const waiting& one) {
    uint64_t slot = one.hash >> (64 - bits_);
    while (slots_[slot] != 0)
      slot = (slot + 1) & mask;
    slots_[slot] = slot_of(one.hash, one.place);
  };
  for (uint64_t place = 0; place < texts_.end();
       place = texts_.after(place), ++count) {
    waiting& next = some[count % slots_ahead];
    if (count >= slots_ahead)
      put(next);
    next = {hash_of_bytes(texts_.at(place)), place};
    __builtin_prefetch(&slots_[next.hash >> (64 - bits_)], 1);
  }
  for (size_t i = count - std::min<size_t>(count, slots_ahead); i < count; ++i)
    put(some[i % slots_ahead]);
}

/// Calls take(row, number, fresh) for each row; number `absent`: refused.
template <class Take>
void key_table::add_words(const equal_keys& keys, Take take) {
  const uint32_t rows = keys.rows();
  for (uint32_t row = 0; row < rows; ++row) {
    if (row + slots_ahead < rows)
      __builtin_prefetch(&slots_[keys.hash(row + slots_ahead) >> (64 - bits_)]);
    const uint64_t word = keys.word(row);
    if (word == 0) {
      uint32_t& number = keys.has_null(row) ? number_of_null_ : number_of_zero_;
      const bool fresh = number == absent && makes_room(0);
      if (fresh)
        number = count_++;
      take(row, number, fresh);
      continue;
    }
    uint64_t slot = slot_of_word(word, keys.hash(row));
    if (slots_[slot] == word) {
      take(row, numbered_ ? number_of_[slot] : 0, false);
      continue;
    }
    const int bits = bits_;
    if (!makes_room(0)) {
      take(row, absent, false);
      continue;
    }
    if (bits != bits_)
      slot = slot_of_word(word, keys.hash(row));
    slots_[slot] = word;
    if (numbered_)
      number_of_[slot] = count_;
    take(row, count_++, true);
  }
}

template <class Take>
void key_table::add_bytes(const equal_keys& keys, Take take) {
  const uint32_t rows = keys.rows();
  for (uint32_t row = 0; row < rows; ++row) {
    if (row + slots_ahead < rows)
      __builtin_prefetch(&slots_[keys.hash(row + slots_ahead) >> (64 - bits_)]);
    if (row + texts_ahead < rows) {
      const uint64_t next =
          slots_[keys.hash(row + texts_ahead) >> (64 - bits_)];
      if (next != 0)
        __builtin_prefetch(texts_.at(place_in(next)).data());
    }
    const std::string_view bytes = keys.bytes(row);
    uint64_t slot = slot_of_bytes(bytes, keys.hash(row));
    if (slots_[slot] != 0) {
      take(row, texts_.number_at(place_in(slots_[slot])), false);
      continue;
    }
    const int bits = bits_;
    if (!makes_room(int64_t(bytes.size()))) {
      take(row, absent, false);
      continue;
    }
    if (bits != bits_)
      slot = slot_of_bytes(bytes, keys.hash(row));
    slots_[slot] = slot_of(keys.hash(row), texts_.add(bytes, count_));
    take(row, count_++, true);
  }
}

void key_table::add(const equal_keys& keys, std::vector<uint32_t>& fresh,
                    std::vector<uint32_t>& refused) {
  fresh.clear();
  refused.clear();
  const auto take = [&](uint32_t row, uint32_t number, bool is_fresh) {
    if (is_fresh)
      fresh.push_back(row);
    else if (number == absent)
      refused.push_back(row);
  };
  if (words_)
    add_words(keys, take);
  else
    add_bytes(keys, take);
}

void key_table::add_numbered(const equal_keys& keys, numbers& out,
                             std::vector<uint32_t>& refused) {
  out.resize(keys.rows());
  refused.clear();
  const auto take = [&](uint32_t row, uint32_t number, bool) {
    out[row] = number;
    if (number == absent)
      refused.push_back(row);
  };
  if (words_)
    add_words(keys, take);
  else
    add_bytes(keys, take);
}

void key_table::find(const equal_keys& keys, numbers& out) const {
  const uint32_t rows = keys.rows();
  out.resize(rows);
  for (uint32_t row = 0; row < rows; ++row) {
    if (row + slots_ahead < rows) {
      const uint64_t next = keys.hash(row + slots_ahead) >> (64 - bits_);
      __builtin_prefetch(&slots_[next]);
      if (!number_of_.empty())
        __builtin_prefetch(&number_of_[next]);
    }
    if (!words_) {
      const uint64_t slot =
          slots_[slot_of_bytes(keys.bytes(row), keys.hash(row))];
      out[row] = slot == 0 ? absent : texts_.number_at(place_in(slot));
      continue;
    }
    const uint64_t word = keys.word(row);
    if (word == 0) {
      out[row] = keys.has_null(row) ? number_of_null_ : number_of_zero_;
      continue;
    }
    const uint64_t slot = slot_of_word(word, keys.hash(row));
    out[row] = slots_[slot] != word ? absent : numbered_ ? number_of_[slot] : 0;
  }
}

} // namespace ballast::data
