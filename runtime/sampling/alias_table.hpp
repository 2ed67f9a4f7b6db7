/// Draws with fixed weights, each in the same few instructions, however many
/// weights there are. A value: the same weights and numbers give the same
/// draws anywhere.
///
/// Walker's alias method (doi:10.1145/355744.355749), built in linear time as
/// Vose does (doi:10.1109/32.92917).
#pragma once

#include "runtime/base/random.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::sampling {

class alias_table {
public:
  /// At most this many weights.
  static constexpr uint64_t weights_max = uint64_t{1} << 32;

  /// Precondition: at least one weight, none negative or not finite, and their
  /// sum, which is finite, above 0. Each is kept to within 2^-32 of the mean.
  explicit alias_table(std::span<const double> weights);

  size_t size() const { return entries_.size(); }

  /// The draw that a number of 64 uniform bits stands for.
  uint32_t draw(uint64_t bits) const {
    __extension__ using wide = unsigned __int128;
    const wide product = wide(bits) * entries_.size();
    const auto place = uint32_t(product >> 64);
    const entry& at = entries_[place];
    return uint32_t(uint64_t(product) >> 32) < at.keep ? place : at.other;
  }

  /// Draws number first, first + 1, ... of a stream. Many at once are faster:
  /// what they look up is fetched while numbers are still made.
  void draw(const counter_random& random, uint64_t first,
            std::span<uint32_t> out) const;

private:
  struct entry {
    uint32_t keep = 0;  // of 2^32: how often a draw that comes here stays
    uint32_t other = 0; // where the others go
  };
  std::vector<entry> entries_;
};

} // namespace ballast::sampling
