#include "gpu/kernels/gather_rows.hpp"

#include <limits>

namespace ballast::gpu {
namespace {

template <class Stored>
void gather(const row_block<Stored>& from, const uint32_t* index, size_t count,
            float scale, float offset, float* to) {
  const size_t features = from.features;
  for (size_t i = 0; i < count; ++i, to += features) {
    const bool there = index[i] < from.rows;
    const Stored* row = from.values + (there ? index[i] : 0) * features;
    for (size_t j = 0; j < features; ++j)
      to[j] = there ? float(row[j]) * scale + offset
                    : std::numeric_limits<float>::quiet_NaN();
  }
}

} // namespace

void gather_rows(const row_block<uint8_t>& from, const uint32_t* index,
                 size_t count, float scale, float offset, float* to) {
  gather(from, index, count, scale, offset, to);
}

void gather_rows(const row_block<float>& from, const uint32_t* index,
                 size_t count, float scale, float offset, float* to) {
  gather(from, index, count, scale, offset, to);
}

} // namespace ballast::gpu
