#include "data/profile/distinct_count.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ballast::data {

void distinct_count::add(uint64_t hash) {
  uint8_t& at = ranks_[hash >> (64 - index_bits)];
  // The bit behind the index that is never reached bounds the rank.
  const uint64_t rest = hash << index_bits | uint64_t{1} << (index_bits - 1);
  at = std::max(at, uint8_t(std::countl_zero(rest) + 1));
}

void distinct_count::merge(const distinct_count& other) {
  for (size_t i = 0; i < ranks_.size(); ++i)
    ranks_[i] = std::max(ranks_[i], other.ranks_[i]);
}

double distinct_count::estimate() const {
  const auto registers = double(ranks_.size());
  double sum = 0;
  size_t empty = 0;
  for (const uint8_t rank : ranks_) {
    sum += std::ldexp(1.0, -int(rank));
    empty += rank == 0 ? 1 : 0;
  }
  const double bias = 0.7213 / (1 + 1.079 / registers);
  const double raw = bias * registers * registers / sum;
  if (raw <= 2.5 * registers && empty > 0)
    return std::round(registers * std::log(registers / double(empty)));
  return std::round(raw);
}

} // namespace ballast::data
