#include "data/augment/image_rotate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ballast::data {

namespace {

/// Of a place in a plane.
constexpr int fraction_bits = 32;
constexpr int64_t one = int64_t{1} << fraction_bits;

int64_t fixed(double number) {
  return int64_t(std::floor(number * double(one) + 0.5));
}

/// Between this pixel and the next, to 24 bits, which a float holds.
float part_of(int64_t place) {
  return float(uint32_t(uint64_t(place) & uint64_t(one - 1)) >> 8) * 0x1p-24F;
}

/// One output row: where its first pixel comes from, and how far the next is.
struct sampling {
  int64_t x;
  int64_t y;
  int64_t step_x;
  int64_t step_y;
};

float mean_of(float above_left, float above_right, float below_left,
              float below_right, float right, float below) {
  const float above = above_left + right * (above_right - above_left);
  const float under = below_left + right * (below_right - below_left);
  return above + below * (under - above);
}

struct planes {
  const float* values;
  int64_t channels;
  int64_t height;
  int64_t width;

  float at(int64_t channel, int64_t y, int64_t x) const {
    if (y < 0 || y >= height || x < 0 || x >= width)
      return 0;
    return values[(channel * height + y) * width + x];
  }
};

void sample_row(const planes& from, sampling where, float* out) {
  const int64_t plane = from.height * from.width;
  for (int64_t i = 0; i < from.width; ++i) {
    const int64_t x = where.x >> fraction_bits;
    const int64_t y = where.y >> fraction_bits;
    const float right = part_of(where.x);
    const float below = part_of(where.y);
    const bool inside =
        x >= 0 && y >= 0 && x + 1 < from.width && y + 1 < from.height;
    const bool outside =
        x < -1 || y < -1 || x >= from.width || y >= from.height;
    for (int64_t c = 0; c < from.channels; ++c) {
      float& to = out[c * plane + i];
      if (inside) {
        const float* at = from.values + c * plane + y * from.width + x;
        to = mean_of(at[0], at[1], at[from.width], at[from.width + 1], right,
                     below);
      } else if (outside) {
        to = 0;
      } else {
        to = mean_of(from.at(c, y, x), from.at(c, y, x + 1),
                     from.at(c, y + 1, x), from.at(c, y + 1, x + 1), right,
                     below);
      }
    }
    where.x += where.step_x;
    where.y += where.step_y;
  }
}

} // namespace

// Of an eighth of the angle by their series, whose next terms are below 2^-53;
// then three times of the double.
on_turn turn_of(double degrees) {
  const double x = degrees * (std::numbers::pi / 180) / 8;
  const double z = x * x;
  double sine = 0;
  double cosine = 0;
  for (int n = 16; n >= 2; n -= 2) {
    sine = -z / double(n * (n + 1)) * (1 + sine);
    cosine = -z / double(n * (n - 1)) * (1 + cosine);
  }
  sine = x * (1 + sine);
  cosine = 1 + cosine;
  for (int doubled = 0; doubled < 3; ++doubled) {
    const double was = sine;
    sine = 2 * sine * cosine;
    cosine = 1 - 2 * was * was;
  }
  return {sine, cosine};
}

void rotate(const float* from, int64_t channels, int64_t height, int64_t width,
            on_turn by, float* out) {
  const planes image{from, channels, height, width};
  const int64_t cosine = fixed(by.cosine);
  const int64_t sine = fixed(by.sine);
  // Twice the place of the middle is a whole number.
  const int64_t twice_x = width - 1;
  const int64_t twice_y = height - 1;
  for (int64_t y = 0; y < height; ++y) {
    // Of the first pixel, from the middle, doubled.
    const int64_t away_x = -twice_x;
    const int64_t away_y = 2 * y - twice_y;
    const sampling where{(cosine * away_x - sine * away_y + twice_x * one) / 2,
                         (sine * away_x + cosine * away_y + twice_y * one) / 2,
                         cosine, sine};
    sample_row(image, where, out + y * width);
  }
}

} // namespace ballast::data
