#include "gpu/torch/relu_pool.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>

namespace ballast::gpu {
namespace {

/// The addresses of the four values of an output.
struct window {
  size_t next_column;
  size_t next_line;
};

BALLAST_VECTORIZED
void pool_line(const float* __restrict in, window w, size_t outputs,
               size_t channels, float* __restrict out,
               uint8_t* __restrict winner) {
  for (size_t o = 0; o < outputs; ++o) {
    const float* at = in + 2 * o * channels;
    for (size_t c = 0; c < channels; ++c) {
      const float b = at[w.next_column + c];
      const float d = at[w.next_line + c];
      const float e = at[w.next_line + w.next_column + c];
      // Written as "not less or equal" and "below zero", so that a NaN is kept.
      float best = at[c];
      int32_t from = 0;
      from = !(b <= best) ? 1 : from;
      best = !(b <= best) ? b : best;
      from = !(d <= best) ? 2 : from;
      best = !(d <= best) ? d : best;
      from = !(e <= best) ? 3 : from;
      best = !(e <= best) ? e : best;
      out[o * channels + c] = best <= 0 ? 0.0F : best;
      winner[o * channels + c] = uint8_t(best <= 0 ? 4 : from);
    }
  }
}

BALLAST_VECTORIZED
void pool_line_backward(const float* __restrict by_out,
                        const uint8_t* __restrict winner, window w,
                        size_t outputs, size_t channels,
                        float* __restrict by_in) {
  for (size_t o = 0; o < outputs; ++o) {
    float* at = by_in + 2 * o * channels;
    for (size_t c = 0; c < channels; ++c) {
      const float g = by_out[o * channels + c];
      const int32_t from = winner[o * channels + c];
      at[c] = from == 0 ? g : 0.0F;
      at[w.next_column + c] = from == 1 ? g : 0.0F;
      at[w.next_line + c] = from == 2 ? g : 0.0F;
      at[w.next_line + w.next_column + c] = from == 3 ? g : 0.0F;
    }
  }
}

} // namespace

void relu_pool(const image_shape& s, const float* in, float* out,
               uint8_t* winner) {
  const size_t line = s.width * s.channels;
  const size_t out_line = s.width / 2 * s.channels;
  for (size_t r = 0; r < s.rows; ++r)
    for (size_t y = 0; y < s.height / 2; ++y) {
      const size_t at = (r * (s.height / 2) + y) * out_line;
      pool_line(in + (r * s.height + 2 * y) * line, {s.channels, line},
                s.width / 2, s.channels, out + at, winner + at);
    }
}

void relu_pool_backward(const image_shape& s, const float* by_out,
                        const uint8_t* winner, float* by_in) {
  const size_t line = s.width * s.channels;
  const size_t out_line = s.width / 2 * s.channels;
  for (size_t r = 0; r < s.rows; ++r) {
    float* image = by_in + r * s.height * line;
    for (size_t y = 0; y < s.height / 2; ++y) {
      const size_t at = (r * (s.height / 2) + y) * out_line;
      float* lines = image + 2 * y * line;
      pool_line_backward(by_out + at, winner + at, {s.channels, line},
                         s.width / 2, s.channels, lines);
      if (s.width % 2 != 0)
        for (float* end : {lines + line, lines + 2 * line})
          std::fill(end - s.channels, end, 0.0F);
    }
    if (s.height % 2 != 0)
      std::fill(image + (s.height - 1) * line, image + s.height * line, 0.0F);
  }
}

} // namespace ballast::gpu
