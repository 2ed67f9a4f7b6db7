/// What the ranks of the suites reduce, and what must come out.
#pragma once

#include "collectives/collective.hpp"
#include "runtime/base/random.hpp"
#include "tests/collectives/harness.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::testing {

/// Small integers: exact in every type, so that sums are exact whatever the
/// order of the additions.
inline int small_value(int rank, size_t i) {
  return static_cast<int>((i * 7 + static_cast<size_t>(rank) * 13) % 11) - 5;
}

inline int small_sum(int size, size_t i) {
  int sum = 0;
  for (int r = 0; r < size; ++r) {
    sum += small_value(r, i);
  }
  return sum;
}

inline uint64_t random_bits(uint64_t seed, uint64_t stream, uint64_t counter) {
  return counter_random(seed, stream).at(counter);
}

template <class T>
std::string check_sum(collectives::collective& c, size_t count,
                      collectives::element_type type, size_t shift = 0) {
  std::vector<T> data(count + shift + 1, T(77));
  for (size_t i = 0; i < count; ++i) {
    data[shift + i] = static_cast<T>(small_value(c.rank(), i));
  }
  c.all_reduce(data.data() + shift, count, type, soon());
  for (size_t i = 0; i < count; ++i) {
    if (data[shift + i] != static_cast<T>(small_sum(c.size(), i))) {
      return "element " + std::to_string(i) + " of " + std::to_string(count) +
             " is " + std::to_string(data[shift + i]) + ", expected " +
             std::to_string(small_sum(c.size(), i));
    }
  }
  return data.back() == T(77) ? "" : "wrote behind the end";
}

} // namespace ballast::testing
