/// Bins of a regression target. They take the place of classes wherever rows
/// are counted by label: in placements, in the histograms of chunks, in
/// balancing. The model never sees them. All bins hold about equally many rows
/// (quantiles); equal targets share a bin. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace ballast::placement {

constexpr uint32_t target_bins_max = 16;

/// The smallest target of every bin but the first, ascending. One bin for each
/// target if at most `bins_max` different ones occur. No NaN.
std::vector<float> bin_edges(std::vector<float> targets,
                             uint32_t bins_max = target_bins_max);

/// In [0, edges.size()].
int32_t bin_of(float target, const std::vector<float>& edges);

} // namespace ballast::placement
