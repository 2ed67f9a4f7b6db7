#include "gpu/kernels/label_histogram.hpp"

#include <algorithm>

namespace ballast::gpu {

void label_histogram(const int32_t* labels, size_t count, uint32_t classes,
                     uint64_t* counts) {
  // As unsigned, a negative label is above every class.
  for (size_t i = 0; i < count; ++i)
    ++counts[std::min(uint32_t(labels[i]), classes)];
}

} // namespace ballast::gpu
