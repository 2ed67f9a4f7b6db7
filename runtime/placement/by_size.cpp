#include "runtime/base/random.hpp"
#include "runtime/placement/generators.hpp"

#include <cmath>
#include <numeric>

namespace ballast::placement {

row_lists place_in_order(const placement_rows& of,
                         const std::vector<double>& weights) {
  row_lists out;
  uint64_t next = 0;
  for (uint64_t count : split_by_shares(of.rows, weights)) {
    std::vector<uint64_t>& list = out.emplace_back(count);
    std::iota(list.begin(), list.end(), next);
    next += count;
  }
  return out;
}

row_lists place_shuffled(const placement_rows& of,
                         const std::vector<double>& weights, uint64_t seed) {
  std::vector<uint64_t> order = all_rows(of.rows);
  shuffle(order, counter_random(seed, stream_iid));
  return cut(order, split_by_shares(of.rows, weights));
}

std::vector<double> lognormal_weights(double sigma, uint32_t workers,
                                      uint64_t seed) {
  std::vector<double> out;
  for (uint32_t worker = 0; worker < workers; ++worker) {
    const counter_random random(seed, mix(stream_lognormal, worker));
    out.push_back(std::exp(sigma * normal(random)));
  }
  return out;
}

std::vector<double> rising_weights(placement_kind kind, uint32_t workers) {
  std::vector<double> out;
  for (uint32_t i = 1; i <= workers; ++i)
    // Relative to the largest weight, because e^i alone would overflow.
    out.push_back(kind == placement_kind::linear ? double(i)
                  : kind == placement_kind::square
                      ? double(i) * double(i)
                      : std::exp(double(i) - double(workers)));
  return out;
}

} // namespace ballast::placement
