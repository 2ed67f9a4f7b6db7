/// bf16: every value rounded to the upper half of its float, and summed as
/// such. Half of the bytes, whatever the backend does with them.
#include "collectives/bfloat16.hpp"
#include "gpu/reduction/codec.hpp"
#include "runtime/base/vectorized.hpp"

#include <vector>

namespace ballast::gpu {

namespace {

BALLAST_VECTORIZED
void encode(const float* values, uint16_t* halves, float* left, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    halves[i] = collectives::to_bfloat16(values[i]);
    left[i] = values[i] - collectives::from_bfloat16(halves[i]);
  }
}

BALLAST_VECTORIZED
void decode(const uint16_t* halves, float* values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    values[i] = collectives::from_bfloat16(halves[i]);
}

class bfloat16_codec final : public codec {
public:
  void exchange(size_t, float* values, float* left, size_t count,
                const exchange_among& how) override {
    halves_.resize(count);
    encode(values, halves_.data(), left, count);
    how.group.all_reduce(halves_.data(), count,
                         collectives::element_type::bfloat16, how.until);
    decode(halves_.data(), values, count);
  }

private:
  std::vector<uint16_t> halves_;
};

} // namespace

std::unique_ptr<codec> make_bfloat16_codec() {
  return std::make_unique<bfloat16_codec>();
}

} // namespace ballast::gpu
