/// The distinct keys that were seen, numbered as they first came: an
/// open-addressing hash table over whole batches of keys. For source files of
/// data/ only.
///
/// Never larger than it was told: once it is full it takes no new key, and
/// still finds those it has. One thread. No errors.
#pragma once

#include "data/operators/equal_keys.hpp"
#include "data/operators/large_pages.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace ballast::data {

class key_table {
public:
  using numbers = std::vector<uint32_t>;
  /// Instead of a number: the key is not here.
  static constexpr uint32_t absent = UINT32_MAX;

  /// `numbered` false: only tells new keys from others, in less memory.
  key_table(bool words, bool numbered, int64_t bytes_max);

  /// Takes the keys of a batch, one after another. `fresh`: the rows whose key
  /// is new; `refused`: those whose key is not here and found no room.
  void add(const equal_keys& keys, std::vector<uint32_t>& fresh,
           std::vector<uint32_t>& refused);
  /// The same, with the number of each row's key, or `absent`, too.
  void add_numbered(const equal_keys& keys, numbers& out,
                    std::vector<uint32_t>& refused);
  /// The number of each row's key, or `absent`.
  void find(const equal_keys& keys, numbers& out) const;

  uint32_t count() const { return count_; }
  bool full() const { return full_; }
  /// At present.
  int64_t bytes() const;

private:
  /// Texts of keys, which never move.
  class key_bytes {
  public:
    uint64_t add(std::string_view bytes, uint32_t number);
    std::string_view at(uint64_t place) const;
    uint32_t number_at(uint64_t place) const;
    uint64_t after(uint64_t place) const;
    uint64_t end() const { return end_; }
    int64_t bytes() const { return int64_t(blocks_.size()) * block; }

  private:
    static constexpr uint64_t block = 64 << 10;
    static constexpr uint64_t head = 2 * sizeof(uint32_t);
    const char* data(uint64_t place) const {
      return blocks_[place / block] + place % block;
    }
    std::vector<std::unique_ptr<char[]>> owned_;
    std::vector<char*> blocks_;
    uint64_t end_ = 0;
  };

  template <class Take>
  void add_words(const equal_keys& keys, Take take);
  template <class Take>
  void add_bytes(const equal_keys& keys, Take take);
  uint64_t slot_of_word(uint64_t word, uint64_t hash) const;
  uint64_t slot_of_bytes(std::string_view bytes, uint64_t hash) const;
  bool makes_room(int64_t more);
  void place_again();
  void grow();

  const bool words_;
  const bool numbered_;
  const int64_t bytes_max_;
  bool full_ = false;
  uint32_t count_ = 0;
  int bits_ = 0; // of a slot's number
  // Of words: the key, 0 for none. Of bytes: 16 bits of the hash, then where
  // the key is, plus 1.
  large_vector<uint64_t> slots_;
  large_vector<uint32_t> number_of_; // of words, by slot
  uint32_t number_of_zero_ = absent;
  uint32_t number_of_null_ = absent;
  key_bytes texts_;
};

} // namespace ballast::data
