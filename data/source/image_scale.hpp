/// Brings an image to the size of a row: scaled until it just covers that size,
/// then its middle. Each new pixel is a mean of those around its place,
/// weighted by a triangle as wide as the scale, so that a smaller image has no
/// moire. Sums are of whole numbers: the same bits on every machine. Pure
/// functions.
#pragma once

#include <cstdint>

namespace ballast::data {

struct image_size {
  uint64_t height = 0;
  uint64_t width = 0;
  friend bool operator==(const image_size&, const image_size&) = default;
};

/// The size of an image of `from` once it covers `to`: one side is that of
/// `to`, the other the same or longer.
image_size covering(image_size from, image_size to);

/// `rgb`: three bytes a pixel, row after row. `planes`: 3 x height x width of
/// `to`, all red first. Precondition: no side is 0.
void scale_and_crop(const unsigned char* rgb, image_size from, image_size to,
                    unsigned char* planes);

} // namespace ballast::data
