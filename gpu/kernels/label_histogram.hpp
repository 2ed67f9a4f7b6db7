/// Counts the rows with each label, on the CPU: the reference of the kernel in
/// gpu/cuda/reduce.cu. Counts are integers, so the order does not matter.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::gpu {

/// Adds to counts[0 .. classes]: counts[label] for labels in [0, classes), and
/// counts[classes] for all others, which no prepared set has.
void label_histogram(const int32_t* labels, size_t count, uint32_t classes,
                     uint64_t* counts);

} // namespace ballast::gpu
