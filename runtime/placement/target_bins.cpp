#include "runtime/placement/target_bins.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace ballast::placement {

std::vector<float> bin_edges(std::vector<float> targets, uint32_t bins_max) {
  std::sort(targets.begin(), targets.end());
  std::vector<float> different;
  std::unique_copy(targets.begin(), targets.end(),
                   std::back_inserter(different));
  std::vector<float> out;
  if (different.size() <= bins_max) {
    if (!different.empty())
      out.assign(different.begin() + 1, different.end());
    return out;
  }
  for (uint64_t bin = 1; bin < bins_max; ++bin) {
    const float last = out.empty() ? targets.front() : out.back();
    auto edge =
        targets.begin() + std::ptrdiff_t(bin * targets.size() / bins_max);
    // A target that fills several bins gets one bin of its own.
    if (*edge == last)
      edge = std::upper_bound(edge, targets.end(), last);
    if (edge != targets.end() && *edge > last)
      out.push_back(*edge);
  }
  return out;
}

int32_t bin_of(float target, const std::vector<float>& edges) {
  return int32_t(std::upper_bound(edges.begin(), edges.end(), target) -
                 edges.begin());
}

} // namespace ballast::placement
