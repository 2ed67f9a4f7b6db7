#include "gpu/kernels/bucket_copy.hpp"

#include <algorithm>

namespace ballast::gpu {

void scale_copy(const float* from, float* to, size_t count, float weight) {
  for (size_t i = 0; i < count; ++i)
    to[i] = from[i] * weight;
}

void write_trailer(worker::trailer counts, const float* loss_sum, float* to) {
  if (loss_sum)
    counts.set_loss_sum(double(*loss_sum));
  std::copy_n(counts.data(), worker::trailer::floats, to);
}

} // namespace ballast::gpu
