/// The place of a category in a list, for many cells: a hash table that is
/// built once. Immutable, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

class category_index {
public:
  explicit category_index(const std::vector<std::string>& categories);

  /// -1: it is none of them.
  int find(std::string_view category) const;

private:
  std::vector<std::string> categories_;
  std::vector<int> slots_; // a power of two, at most half full; -1: free
};

/// For tables in memory: XXH3, which is faster for short texts.
uint64_t table_hash(std::string_view category);
/// XXH64 of the text, seed 0: what it gives is in prepared sets.
uint64_t category_hash(std::string_view category);

} // namespace ballast::data
