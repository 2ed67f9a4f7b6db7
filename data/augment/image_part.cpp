#include "data/augment/image_part.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::data {

namespace {

constexpr uint64_t attempts = 10;

int64_t nearest(double number) {
  return int64_t(std::floor(number + 0.5));
}

image_part in_the_middle(int64_t of_height, int64_t of_width, int64_t height,
                         int64_t width) {
  height = std::clamp<int64_t>(height, 1, of_height);
  width = std::clamp<int64_t>(width, 1, of_width);
  return {(of_height - height) / 2, (of_width - width) / 2, height, width};
}

} // namespace

double root_between(value_range of, double part) {
  double root = of.high / of.low;
  double out = 1;
  auto bits = uint32_t(part * 0x1p32);
  for (uint32_t bit = uint32_t{1} << 31; bit > 0 && root != 1; bit >>= 1) {
    root = std::sqrt(root);
    if ((bits & bit) != 0)
      out *= root;
  }
  return out;
}

image_part draw_part(int64_t height, int64_t width, value_range scale,
                     value_range ratio, const image_draws& draws,
                     size_t place) {
  const auto whole = double(height * width);
  for (uint64_t i = 0; i < attempts; ++i) {
    const double area =
        whole * draws.between(scale.low, scale.high, place, 2 * i);
    const double shape =
        ratio.low * root_between(ratio, draws.unit(place, 2 * i + 1));
    const int64_t wide = nearest(std::sqrt(area * shape));
    const int64_t high = nearest(std::sqrt(area / shape));
    if (wide < 1 || high < 1 || wide > width || high > height)
      continue;
    const uint64_t top =
        draws.below(uint64_t(height - high + 1), place, 2 * attempts);
    const uint64_t left =
        draws.below(uint64_t(width - wide + 1), place, 2 * attempts + 1);
    return {int64_t(top), int64_t(left), high, wide};
  }
  const double shape = double(width) / double(height);
  if (shape < ratio.low)
    return in_the_middle(height, width, nearest(double(width) / ratio.low),
                         width);
  if (shape > ratio.high)
    return in_the_middle(height, width, height,
                         nearest(double(height) * ratio.high));
  return {0, 0, height, width};
}

image_part middle_part(int64_t of_height, int64_t of_width, int64_t height,
                       int64_t width) {
  // Half of the divisor rounds to the nearest.
  if (of_height * width >= of_width * height)
    return in_the_middle(of_height, of_width,
                         (2 * of_width * height + width) / (2 * width),
                         of_width);
  return in_the_middle(of_height, of_width, of_height,
                       (2 * of_height * width + height) / (2 * height));
}

} // namespace ballast::data
