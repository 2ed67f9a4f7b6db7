/// Scales an image to any size: each new pixel is a mean of those around its
/// place, weighted by a triangle that is as wide as the scale where the image
/// becomes smaller, and two pixels wide where it becomes larger. As
/// data/source/image_scale.hpp, but to floats, which are not rounded. The same
/// bits on every machine. One thread at a time for each room.
#pragma once

#include "data/augment/image_view.hpp"

#include <cstdint>
#include <vector>

namespace ballast::data {

/// Of one side: which old pixels each new one is made of.
struct resize_weights {
  int64_t taps = 0;           // of each new pixel, some of them of weight 0
  std::vector<int32_t> first; // by new pixel
  std::vector<float> weights; // taps x new pixels
};

void make_weights(int64_t old, int64_t made, resize_weights& out);

/// What a resize needs on its way, kept from image to image.
struct resize_room {
  resize_weights rows;
  resize_weights columns;
  std::vector<float> line;
};

/// `out`: channels x height x width. Precondition: `from` is plain, and no side
/// is 0.
void resize(const image_view& from, int64_t height, int64_t width,
            resize_room& room, float* out);

} // namespace ballast::data
