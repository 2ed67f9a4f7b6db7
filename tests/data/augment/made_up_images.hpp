/// Images of any size, and a plain way to look at one, for the tests of
/// data/augment.
#pragma once

#include "data/augment/image_augment.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace ballast::data {

/// Values 0 to 250 without a pattern.
template <class T>
std::vector<T> made_up_image(size_t values, uint64_t seed = 1) {
  const counter_random random(seed, 99);
  std::vector<T> out(values);
  for (size_t i = 0; i < values; ++i)
    out[i] = T(random.below(251, i));
  return out;
}

inline ledger::row_shape image_row(ledger::stored_type stored,
                                   uint32_t channels, uint32_t height,
                                   uint32_t width) {
  ledger::row_shape out;
  out.features = channels * height * width;
  out.shape = {channels, height, width};
  out.stored = stored;
  out.classes = 3;
  return out;
}

/// An image as the value of each pixel.
struct plain_image {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
  std::vector<double> values;

  double at(int64_t c, int64_t y, int64_t x) const {
    if (y < 0 || y >= height || x < 0 || x >= width)
      return 0;
    return values[size_t((c * height + y) * width + x)];
  }
};

/// The image whose pixels are what `pixel` says.
inline plain_image
plain_of(int64_t channels, int64_t height, int64_t width,
         const std::function<double(int64_t, int64_t, int64_t)>& pixel) {
  plain_image out{channels, height, width, {}};
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t y = 0; y < height; ++y)
      for (int64_t x = 0; x < width; ++x)
        out.values.push_back(pixel(c, y, x));
  return out;
}

template <class T>
plain_image plain_of(const std::vector<T>& values, int64_t channels,
                     int64_t height, int64_t width) {
  return {channels, height, width,
          std::vector<double>(values.begin(), values.end())};
}

inline plain_image part_of(const plain_image& of, int64_t top, int64_t left,
                           int64_t height, int64_t width) {
  return plain_of(of.channels, height, width,
                  [&](int64_t c, int64_t y, int64_t x) {
                    return of.at(c, top + y, left + x);
                  });
}

inline plain_image mirrored(const plain_image& of, augment::axis along) {
  const bool across = along == augment::axis::horizontal;
  return plain_of(of.channels, of.height, of.width,
                  [&](int64_t c, int64_t y, int64_t x) {
                    return of.at(c, across ? y : of.height - 1 - y,
                                 across ? of.width - 1 - x : x);
                  });
}

} // namespace ballast::data
