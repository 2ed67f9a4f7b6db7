#include "runtime/sampling/alias_table.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::sampling {

namespace {

constexpr double whole = 0x1p32;

/// Weights relative to their mean, each checked.
std::vector<double> relative(std::span<const double> weights) {
  double sum = 0;
  for (double weight : weights) {
    BALLAST_CHECK(weight >= 0 && std::isfinite(weight),
                  "a weight is negative or not finite");
    sum += weight;
  }
  BALLAST_CHECK(sum > 0 && std::isfinite(sum), "no weight is above 0");
  std::vector<double> out(weights.begin(), weights.end());
  for (double& one : out)
    one *= double(weights.size()) / sum;
  return out;
}

/// The numbers alone, so that vectors make several at a time.
BALLAST_VECTORIZED void fill(const counter_random& random, uint64_t first,
                             uint64_t* out, size_t count) {
  for (size_t i = 0; i < count; ++i)
    out[i] = random.at(first + i);
}

} // namespace

alias_table::alias_table(std::span<const double> weights) {
  BALLAST_CHECK(!weights.empty() && weights.size() <= weights_max,
                "an alias table of " + std::to_string(weights.size()) +
                    " weights");
  std::vector<double> left = relative(weights);
  entries_.resize(weights.size());
  // The small ones from the front, the large ones from the back of one list.
  std::vector<uint32_t> order(weights.size());
  size_t small = 0, large = order.size();
  for (size_t i = 0; i < left.size(); ++i)
    order[left[i] < 1 ? small++ : --large] = uint32_t(i);
  // Each small one is filled up by a large one, which may become small: then
  // it is the next.
  size_t next = 0;
  while (next < small && large < order.size()) {
    const uint32_t at = order[next++], from = order[large];
    // 2^32 does not fit, but then nothing is left to go elsewhere.
    entries_[at] = {uint32_t(left[at] * whole), from};
    left[from] -= 1 - left[at];
    if (left[from] < 1) {
      ++large;
      // order[small] belongs to a large one that is done, or is this one.
      order[small++] = from;
    }
  }
  // What is left is 1, but for rounding; a weight of 0 never is.
  const auto heaviest = uint32_t(
      std::max_element(weights.begin(), weights.end()) - weights.begin());
  for (; next < small; ++next)
    entries_[order[next]] = {UINT32_MAX,
                             weights[order[next]] > 0 ? order[next] : heaviest};
  for (; large < order.size(); ++large)
    entries_[order[large]] = {UINT32_MAX, order[large]};
  for (size_t i = 0; i < entries_.size(); ++i)
    if (!(weights[i] > 0))
      entries_[i].keep = 0;
}

void alias_table::draw(const counter_random& random, uint64_t first,
                       std::span<uint32_t> out) const {
  constexpr size_t together = 128;
  __extension__ using wide = unsigned __int128;
  uint64_t bits[together];
  for (size_t done = 0; done < out.size();) {
    const size_t count = std::min(together, out.size() - done);
    fill(random, first + done, bits, count);
    for (size_t i = 0; i < count; ++i)
      __builtin_prefetch(&entries_[size_t(wide(bits[i]) * size() >> 64)]);
    for (size_t i = 0; i < count; ++i)
      out[done + i] = draw(bits[i]);
    done += count;
  }
}

} // namespace ballast::sampling
