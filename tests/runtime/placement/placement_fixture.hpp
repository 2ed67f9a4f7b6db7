/// Rows to place, and what to look at once they are.
#pragma once

#include "runtime/placement/placement.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ballast::testing {

using row_lists = std::vector<std::vector<uint64_t>>;

inline placement_spec kind(placement_kind of) {
  placement_spec out;
  out.kind = of;
  return out;
}

/// Labels 0, 1, ..., classes - 1, 0, ... with class 0 twice as frequent.
inline std::vector<int32_t> some_labels(uint64_t rows, uint32_t classes) {
  std::vector<int32_t> out(rows);
  for (uint64_t i = 0; i < rows; ++i)
    out[i] = int32_t(i % (classes + 1) % classes);
  return out;
}

inline std::vector<uint64_t> histogram(const std::vector<uint64_t>& rows,
                                       const std::vector<int32_t>& labels,
                                       uint32_t classes) {
  std::vector<uint64_t> out(classes);
  for (uint64_t row : rows)
    ++out[size_t(labels[row])];
  return out;
}

/// Rows with labels and values, kept alive.
struct some_rows {
  std::vector<int32_t> labels;
  uint32_t classes = 0;
  std::vector<double> column = {};
  operator placement::placement_rows() const {
    return {labels.size(), labels, classes, column};
  }
};

inline std::vector<uint64_t> sizes_of(const row_lists& lists) {
  std::vector<uint64_t> out;
  for (const auto& list : lists)
    out.push_back(list.size());
  return out;
}

inline uint64_t most(const std::vector<uint64_t>& numbers) {
  return *std::max_element(numbers.begin(), numbers.end());
}
inline uint64_t least(const std::vector<uint64_t>& numbers) {
  return *std::min_element(numbers.begin(), numbers.end());
}

} // namespace ballast::testing
