/// The places of the values with the largest magnitudes: a threshold from a
/// sample leaves a few candidates, among which the exact ones are found. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::gpu {

/// `wanted` <= `count` places, ascending; of equal magnitudes the first ones. A
/// NaN is larger than everything. `out` keeps its memory.
void largest_values(const float* values, size_t count, size_t wanted,
                    std::vector<uint32_t>& out);

} // namespace ballast::gpu
