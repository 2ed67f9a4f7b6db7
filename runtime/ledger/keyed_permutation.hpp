/// A permutation of 0, 1, ..., n - 1 of which any entry is computed alone, in
/// about 50 ns and without a table: who knows the seed knows the place of every
/// row of a set of any size.
///
/// A Feistel network over Z_a x Z_b with a b >= n, a and b near the root of n,
/// and where its result is not below n, again from there ("cycle walking"):
/// Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002,
/// doi:10.1007/3-540-45760-7_9. As a b < n + a, hardly one entry in sqrt(n)
/// walks. Few things have few permutations, of which ten rounds do not reach
/// each equally often: up to `table_max` they are shuffled. Immutable; any
/// thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::ledger {

class keyed_permutation {
public:
  static constexpr uint64_t table_max = 64;
  static constexpr uint64_t size_max = uint64_t{1} << 48;

  /// A pure function of (seed, stream, n). Precondition: n <= size_max.
  keyed_permutation(uint64_t seed, uint64_t stream, uint64_t n);

  uint64_t size() const { return n_; }
  /// Precondition: i < size().
  uint64_t at(uint64_t i) const;

private:
  /// With six, some pairs of places are met too often; with ten, none was.
  static constexpr size_t rounds = 10; // even
  uint64_t passed(uint64_t i) const;

  uint64_t n_;
  uint64_t a_ = 1, b_ = 1;
  std::array<uint64_t, rounds> keys_{};
  std::vector<uint32_t> table_; // of few; else empty
};

} // namespace ballast::ledger
