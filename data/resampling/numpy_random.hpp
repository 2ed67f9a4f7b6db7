/// The numbers of NumPy's legacy generator, `numpy.random.RandomState(seed)`:
/// MT19937 and the ways in which RandomState makes integers, fractions and
/// permutations of it, so that a result can be compared with one of
/// imbalanced-learn. For that only; elsewhere counter_random.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

namespace ballast::data {

class numpy_random {
public:
  explicit numpy_random(uint32_t seed) : engine_(seed) {}

  /// randint(0, bound): the first number below it after masking.
  uint64_t below(uint64_t bound) {
    const uint64_t most = bound - 1;
    if (most == 0)
      return 0;
    uint64_t mask = most;
    for (int shift = 1; shift < 64; shift *= 2)
      mask |= mask >> shift;
    for (;;) {
      const uint64_t value = word(most) & mask;
      if (value <= most)
        return value;
    }
  }
  /// random_sample(): in [0, 1), 53 bits.
  double unit() {
    const uint64_t high = engine_() >> 5, low = engine_() >> 6;
    return (double(high) * 67108864.0 + double(low)) / 9007199254740992.0;
  }
  /// permutation(count).
  std::vector<uint32_t> permutation(uint32_t count) {
    std::vector<uint32_t> out(count);
    for (uint32_t i = 0; i < count; ++i)
      out[i] = i;
    for (uint32_t i = count; i-- > 1;)
      std::swap(out[i], out[below(uint64_t{i} + 1)]);
    return out;
  }

private:
  uint64_t word(uint64_t most) {
    if (most <= UINT32_MAX)
      return engine_();
    const uint64_t high = engine_();
    return high << 32 | engine_();
  }

  std::mt19937 engine_;
};

} // namespace ballast::data
