#include "data/augment/image_colour.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cstddef>

namespace ballast::data {

namespace {

constexpr float red_part = 0.299F;
constexpr float green_part = 0.587F;
constexpr float blue_part = 0.114F;
/// Sums are made side by side, so that a vector holds some of them.
constexpr int64_t lanes = 16;

struct bounds {
  float low;
  float high;
};

[[gnu::always_inline]] inline float cut(float value, const bounds& to) {
  return std::min(std::max(value, to.low), to.high);
}

[[gnu::always_inline]] inline float grey_of(float red, float green,
                                            float blue) {
  return red_part * red + green_part * green + blue_part * blue;
}

/// All values: from + (value - from) * factor.
BALLAST_VECTORIZED
void scale_around(float* __restrict values, int64_t count, float from,
                  float factor, const bounds& to) {
  const bounds within = to;
  for (int64_t i = 0; i < count; ++i)
    values[i] = cut(from + (values[i] - from) * factor, within);
}

BALLAST_VECTORIZED
double sum_of(const float* __restrict values, int64_t count) {
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t k = 0; k < lanes; ++k)
      sums[k] += double(values[i + k]);
  for (int64_t k = 0; i < count; ++i, ++k)
    sums[k] += double(values[i]);
  double out = 0;
  for (double sum : sums)
    out += sum;
  return out;
}

float mean_grey(const float* planes, int64_t channels, int64_t pixels) {
  const double first = sum_of(planes, pixels);
  if (channels == 1)
    return float(first / double(pixels));
  const double green = sum_of(planes + pixels, pixels);
  const double blue = sum_of(planes + 2 * pixels, pixels);
  return float((double(red_part) * first + double(green_part) * green +
                double(blue_part) * blue) /
               double(pixels));
}

BALLAST_VECTORIZED
void saturate(float* __restrict red, float* __restrict green,
              float* __restrict blue, int64_t pixels, float factor,
              const bounds& to) {
  const bounds within = to;
  for (int64_t i = 0; i < pixels; ++i) {
    const float grey = grey_of(red[i], green[i], blue[i]);
    red[i] = cut(grey + (red[i] - grey) * factor, within);
    green[i] = cut(grey + (green[i] - grey) * factor, within);
    blue[i] = cut(grey + (blue[i] - grey) * factor, within);
  }
}

} // namespace

void change_colour(float* planes, int64_t channels, int64_t pixels,
                   const colour_factors& by, value_range range) {
  const bounds to{float(range.low), float(range.high)};
  const int64_t count = channels * pixels;
  if (by.brightness != 1)
    scale_around(planes, count, 0, by.brightness, to);
  if (by.contrast != 1)
    scale_around(planes, count, mean_grey(planes, channels, pixels),
                 by.contrast, to);
  if (by.saturation != 1 && channels == 3)
    saturate(planes, planes + pixels, planes + 2 * pixels, pixels,
             by.saturation, to);
}

} // namespace ballast::data
