#include "gpu/torch/direct_convolution.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>

namespace ballast::gpu {
namespace {

constexpr size_t lanes = 16; // output channels at a time
constexpr size_t in_channels_max = 4;

/// Adds one input channel's part of one output line, `lanes` channels of it.
/// `image`: its first input line. `weights`: 9 taps x lanes. A pixel starts
/// from `start` + pixel * start_step (the bias, or the sum so far).
BALLAST_VECTORIZED_FMA
void convolve_line(const float* image, size_t in_width, const float* weights,
                   const float* start, size_t start_step, float* out,
                   size_t out_step) {
  for (size_t x = 0; x + 2 < in_width; ++x) {
    const float* a = image + x;
    const float* b = a + in_width;
    const float* d = b + in_width;
    const float* from = start + x * start_step;
    float* to = out + x * out_step;
    // All nine taps in one expression, so that the sum stays in a register. Not
    // unrolled, because the loop is one vector.
#pragma GCC unroll 1
#pragma GCC ivdep
    for (size_t c = 0; c < lanes; ++c) {
      const float* w = weights + c;
      to[c] = from[c] + a[0] * w[0] + a[1] * w[lanes] + a[2] * w[2 * lanes] +
              b[0] * w[3 * lanes] + b[1] * w[4 * lanes] + b[2] * w[5 * lanes] +
              d[0] * w[6 * lanes] + d[1] * w[7 * lanes] + d[2] * w[8 * lanes];
    }
  }
}

} // namespace

bool suits_direct_convolution(size_t in_channels, size_t out_channels) {
  return in_channels <= in_channels_max && out_channels % lanes == 0;
}

void direct_convolution(const direct_convolution_shape& s, const float* images,
                        const float* weight, const float* bias, float* out,
                        std::vector<float>& scratch) {
  const size_t taps = s.in_channels * 9;
  scratch.resize(taps * s.out_channels);
  for (size_t c = 0; c < s.out_channels; ++c)
    for (size_t tap = 0; tap < taps; ++tap)
      scratch[(c / lanes * taps + tap) * lanes + c % lanes] =
          weight[c * taps + tap];
  const size_t line = (s.in_width - 2) * s.out_channels;
  const size_t image = s.in_channels * s.in_height * s.in_width;
  for (size_t r = 0; r < s.rows; ++r)
    for (size_t y = 0; y < s.in_height - 2; ++y)
      for (size_t c = 0; c < s.out_channels; c += lanes)
        for (size_t k = 0; k < s.in_channels; ++k) {
          float* to = out + (r * (s.in_height - 2) + y) * line + c;
          convolve_line(images + r * image + (k * s.in_height + y) * s.in_width,
                        s.in_width, scratch.data() + c * taps + k * 9 * lanes,
                        k == 0 ? bias + c : to, k == 0 ? 0 : s.out_channels, to,
                        s.out_channels);
        }
}

} // namespace ballast::gpu
