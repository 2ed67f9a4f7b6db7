#include "runtime/ledger/keyed_permutation.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/random.hpp"
#include "runtime/ledger/permutation.hpp"

#include <cmath>

namespace ballast::ledger {

namespace {

/// The finalizer of SplitMix64 (Steele, Lea and Flood, "Fast Splittable
/// Pseudorandom Number Generators", OOPSLA 2014, doi:10.1145/2660193.2660195):
/// a bijection of 64 bits that spreads each of them over all.
constexpr uint64_t spread(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  return x ^ x >> 31;
}

/// x + a number in [0, bound) that follows from `from`, within [0, bound).
constexpr uint64_t shifted(uint64_t x, uint64_t from, uint64_t bound) {
  __extension__ using wide = unsigned __int128;
  x += uint64_t(wide(spread(from)) * bound >> 64);
  return x < bound ? x : x - bound;
}

uint64_t root_above(uint64_t n) {
  auto out = uint64_t(std::sqrt(double(n)));
  while (out * out < n)
    ++out;
  return out;
}

} // namespace

keyed_permutation::keyed_permutation(uint64_t seed, uint64_t stream, uint64_t n)
    : n_(n) {
  BALLAST_CHECK(n <= size_max, "a permutation of too many");
  if (n <= table_max) {
    table_ = random_permutation(seed, stream, uint32_t(n));
    return;
  }
  a_ = root_above(n);
  b_ = (n + a_ - 1) / a_;
  const counter_random random(seed, stream);
  for (size_t i = 0; i < rounds; ++i)
    keys_[i] = random.at(i);
}

uint64_t keyed_permutation::passed(uint64_t i) const {
  uint64_t left = i % a_, right = i / a_;
  for (size_t round = 0; round < rounds; round += 2) {
    left = shifted(left, right + keys_[round], a_);
    right = shifted(right, left + keys_[round + 1], b_);
  }
  return right * a_ + left;
}

uint64_t keyed_permutation::at(uint64_t i) const {
  if (!table_.empty())
    return table_[i];
  do
    i = passed(i);
  while (i >= n_);
  return i;
}

} // namespace ballast::ledger
