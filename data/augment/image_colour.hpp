/// Changes brightness, contrast and saturation of an image, in place. Sums have
/// a fixed order: the same bits on every machine. Pure functions.
#pragma once

#include "data/augment/image_part.hpp"

#include <cstdint>

namespace ballast::data {

/// By what brightness and the distances from grey are multiplied.
struct colour_factors {
  float brightness = 1;
  float contrast = 1;
  float saturation = 1;
};

/// `planes`: 1 or 3 channels of `pixels` values each, of which grey is 0.299
/// red + 0.587 green + 0.114 blue. After each change values are cut to `range`.
void change_colour(float* planes, int64_t channels, int64_t pixels,
                   const colour_factors& by, value_range range);

} // namespace ballast::data
