/// Puts what concerns intervals in the order of (chunk, begin) in time linear
/// in entries and chunks: nearly every chunk has a single owner, and a
/// recovery should not sort a million of them. A counting sort by chunk
/// (Knuth, "The Art of Computer Programming" 3, 5.2).
#pragma once

#include "runtime/ledger/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ballast::ledger {

/// Orders `all`, where `where(entry)` is an entry's interval, of a chunk below
/// `chunks`. Returns the index of the first entry of each chunk, and last the
/// number of entries.
template <class Entry, class Where>
std::vector<uint32_t> order_by_chunk(std::vector<Entry>& all, size_t chunks,
                                     Where where) {
  std::vector<uint32_t> first(chunks + 1, 0);
  for (const Entry& one : all)
    ++first[value(where(one).chunk) + 1];
  for (size_t chunk = 0; chunk < chunks; ++chunk)
    first[chunk + 1] += first[chunk];
  std::vector<uint32_t> free = first;
  std::vector<Entry> out(all.size());
  for (const Entry& one : all)
    out[free[value(where(one).chunk)]++] = one;
  for (size_t chunk = 0; chunk < chunks; ++chunk)
    if (first[chunk + 1] - first[chunk] > 1)
      std::sort(
          out.begin() + first[chunk], out.begin() + first[chunk + 1],
          [&](const Entry& a, const Entry& b) { return where(a) < where(b); });
  all = std::move(out);
  return first;
}

} // namespace ballast::ledger
