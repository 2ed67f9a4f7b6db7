/// Turns an image around its middle: bilinear, 0 beyond its border. Places are
/// fixed-point numbers, sine and cosine sums and products, so the bits are the
/// same on every machine. Pure functions.
#pragma once

#include <cstdint>

namespace ballast::data {

struct on_turn {
  double sine = 0;
  double cosine = 1;
};

/// Of an angle in degrees, -180 to 180.
on_turn turn_of(double degrees);

/// Counter-clockwise. `from` and `out`: channels x height x width, apart from
/// each other.
void rotate(const float* from, int64_t channels, int64_t height, int64_t width,
            on_turn by, float* out);

} // namespace ballast::data
