/// Which part of an image `resized_crop` takes. With sums, products and square
/// roots only, which are the same on every machine. Pure functions.
#pragma once

#include "data/augment/image_draws.hpp"

#include <cstdint>

namespace ballast::data {

struct image_part {
  int64_t top = 0;
  int64_t left = 0;
  int64_t height = 0;
  int64_t width = 0;
  friend bool operator==(const image_part&, const image_part&) = default;
};

struct value_range {
  double low = 0;
  double high = 0;
};

/// Ten times an area (numbers 0, 2, ... of the step) and a ratio (1, 3, ...;
/// uniform in its logarithm) are drawn, until one fits into the image; then its
/// place (20 and 21). If none does: the largest in the middle whose ratio is
/// within the range.
image_part draw_part(int64_t height, int64_t width, value_range scale,
                     value_range ratio, const image_draws& draws, size_t place);

/// The largest in the middle that has the shape of `height` x `width`.
image_part middle_part(int64_t of_height, int64_t of_width, int64_t height,
                       int64_t width);

/// (high / low)^part, part in [0, 1), to 32 bits of it.
double root_between(value_range of, double part);

} // namespace ballast::data
