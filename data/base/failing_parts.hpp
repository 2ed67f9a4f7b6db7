/// Finds the rows at which work on many rows fails, by halves: where few fail,
/// little is done twice. Pure.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::data {

/// Calls `see(row)` in order for each row that fails alone. `works(first,
/// count)` tells whether these rows do together, and is asked for all first.
template <class Works, class See>
void each_failing(int64_t rows, Works works, See see) {
  std::vector<std::pair<int64_t, int64_t>> parts{{0, rows}};
  while (!parts.empty()) {
    const auto [first, count] = parts.back();
    parts.pop_back();
    if (works(first, count))
      continue;
    if (count <= 1) {
      see(first);
      continue;
    }
    parts.emplace_back(first + count / 2, count - count / 2); // comes second
    parts.emplace_back(first, count / 2);
  }
}

} // namespace ballast::data
