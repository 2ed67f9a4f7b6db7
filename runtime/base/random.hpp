/// Counter-based random numbers: a pure function of (seed, stream, counter), so
/// that any process can compute any draw of any other process without its
/// history.
///
/// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
/// as 1, 2, 3", SC 2011, doi:10.1145/2063384.2063405). The distributions are
/// our own, because those of the standard libraries differ.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace ballast {

using philox_block = std::array<uint32_t, 4>;

constexpr philox_block philox4x32(philox_block counter, uint32_t key_low,
                                  uint32_t key_high) {
  for (int round = 0; round < 10; ++round) {
    uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {
        uint32_t(product1 >> 32) ^ counter[1] ^ key_low, uint32_t(product1),
        uint32_t(product0 >> 32) ^ counter[3] ^ key_high, uint32_t(product0)};
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return counter;
}

/// Mixes two words into one, to build seeds and stream numbers.
constexpr uint64_t mix(uint64_t a, uint64_t b) {
  philox_block block =
      philox4x32({uint32_t(b), uint32_t(b >> 32), 0x42616c6c, 0x61737421},
                 uint32_t(a), uint32_t(a >> 32));
  return uint64_t{block[1]} << 32 | block[0];
}

/// One stream of 2^64 numbers of 64 bits each. A value; free to construct.
class counter_random {
public:
  constexpr counter_random(uint64_t seed, uint64_t stream)
      : seed_(seed), stream_(stream) {}

  /// Number `counter` of the stream.
  constexpr uint64_t at(uint64_t counter) const {
    philox_block block =
        philox4x32({uint32_t(counter), uint32_t(counter >> 32),
                    uint32_t(stream_), uint32_t(stream_ >> 32)},
                   uint32_t(seed_), uint32_t(seed_ >> 32));
    return uint64_t{block[1]} << 32 | block[0];
  }

  /// In [0, bound); its deviation from uniform is below bound / 2^64.
  constexpr uint64_t below(uint64_t bound, uint64_t counter) const {
    __extension__ using wide = unsigned __int128;
    return uint64_t(wide(at(counter)) * bound >> 64);
  }

  /// In [0, 1), 53 bits.
  constexpr double unit(uint64_t counter) const {
    return double(at(counter) >> 11) * 0x1p-53;
  }

private:
  uint64_t seed_;
  uint64_t stream_;
};

/// Normal number `which`, mean 0, deviation 1, by Box and Muller from numbers 2
/// `which` and 2 `which` + 1 of the stream.
inline double normal(const counter_random& random, uint64_t which = 0) {
  // 1 - unit is in (0, 1].
  return std::sqrt(-2 * std::log(1 - random.unit(2 * which))) *
         std::cos(2 * std::numbers::pi * random.unit(2 * which + 1));
}

/// Fisher-Yates shuffle with numbers first, first + 1, ... of the stream.
template <class T>
void shuffle(std::vector<T>& items, const counter_random& random,
             uint64_t first = 0) {
  // A long list is not in the cache: what will be swapped is asked for earlier.
  constexpr uint64_t ahead = 16;
  uint64_t other[ahead];
  for (uint64_t i = items.size(); i > 1;) {
    const uint64_t count = i - 1 < ahead ? i - 1 : ahead;
    for (uint64_t k = 0; k < count; ++k) {
      other[k] = random.below(i - k, first++);
      __builtin_prefetch(&items[other[k]], 1);
    }
    for (uint64_t k = 0; k < count; ++k, --i)
      std::swap(items[i - 1], items[other[k]]);
  }
}

} // namespace ballast
