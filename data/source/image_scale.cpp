#include "data/source/image_scale.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <vector>

namespace ballast::data {

namespace {

constexpr int channels = 3;
/// Weights are in units of 2^-22: with a byte they fit into 32 bits.
constexpr int weight_bits = 22;
constexpr uint32_t half = uint32_t{1} << (weight_bits - 1);

/// Which old pixels a new one is made of, along one side.
struct window {
  uint64_t first = 0;
  std::vector<uint32_t> weights; // their sum is 2^weight_bits
};

/// Lengths are in halves of 1/scaled of an old pixel, in which the middles of
/// old and new pixels are whole numbers.
window window_of(uint64_t pixel, uint64_t old, uint64_t scaled) {
  const auto middle = int64_t((2 * pixel + 1) * old);
  const auto reach = int64_t(2 * std::max(old, scaled));
  const auto step = int64_t(2 * scaled);
  const auto weight_at = [&](uint64_t at) {
    const int64_t distance = int64_t((2 * at + 1) * scaled) - middle;
    return std::max<int64_t>(0, reach - std::abs(distance));
  };
  window out;
  out.first = uint64_t(std::max<int64_t>(0, (middle - reach) / step - 1));
  while (weight_at(out.first) == 0)
    ++out.first;
  std::vector<int64_t> shares;
  int64_t sum = 0;
  for (uint64_t at = out.first; at < old; ++at) {
    const int64_t share = weight_at(at);
    if (share == 0)
      break;
    shares.push_back(share);
    sum += share;
  }
  // What rounding leaves goes to the middle, so that grey stays grey.
  uint32_t given = 0;
  for (int64_t share : shares) {
    // In whole numbers the product may be too long; rounded, it is the same
    // everywhere.
    const auto weight =
        uint32_t(double(share) / double(sum) * double(1 << weight_bits));
    out.weights.push_back(weight);
    given += weight;
  }
  *std::max_element(out.weights.begin(), out.weights.end()) +=
      (uint32_t{1} << weight_bits) - given;
  return out;
}

/// Of the pixels in the middle.
std::vector<window> windows_of(uint64_t old, uint64_t scaled, uint64_t taken) {
  std::vector<window> out;
  const uint64_t before = (scaled - taken) / 2;
  for (uint64_t i = 0; i < taken; ++i)
    out.push_back(window_of(before + i, old, scaled));
  return out;
}

unsigned char byte_of(uint32_t sum) {
  return static_cast<unsigned char>((sum + half) >> weight_bits);
}

/// One row of the image, to all red, green and blue of a narrower one.
void scale_row(const unsigned char* rgb, const std::vector<window>& columns,
               unsigned char* out) {
  const size_t width = columns.size();
  for (size_t x = 0; x < width; ++x) {
    const unsigned char* from = rgb + columns[x].first * channels;
    uint32_t red = 0;
    uint32_t green = 0;
    uint32_t blue = 0;
    for (uint32_t weight : columns[x].weights) {
      red += weight * from[0];
      green += weight * from[1];
      blue += weight * from[2];
      from += channels;
    }
    out[x] = byte_of(red);
    out[width + x] = byte_of(green);
    out[2 * width + x] = byte_of(blue);
  }
}

/// An image that has its size already: pixels become planes.
void split(const unsigned char* rgb, uint64_t pixels, unsigned char* planes) {
  for (uint64_t i = 0; i < pixels; ++i) {
    planes[i] = rgb[channels * i];
    planes[pixels + i] = rgb[channels * i + 1];
    planes[2 * pixels + i] = rgb[channels * i + 2];
  }
}

} // namespace

image_size covering(image_size from, image_size to) {
  const auto rounded = [](uint64_t of, uint64_t by, uint64_t over) {
    return (2 * of * by + over) / (2 * over);
  };
  if (to.height * from.width >= to.width * from.height)
    return {to.height,
            std::max(to.width, rounded(from.width, to.height, from.height))};
  return {std::max(to.height, rounded(from.height, to.width, from.width)),
          to.width};
}

void scale_and_crop(const unsigned char* rgb, image_size from, image_size to,
                    unsigned char* planes) {
  if (from == to)
    return split(rgb, from.height * from.width, planes);
  const image_size scaled = covering(from, to);
  const std::vector<window> columns =
      windows_of(from.width, scaled.width, to.width);
  const std::vector<window> rows =
      windows_of(from.height, scaled.height, to.height);
  const uint64_t first = rows.front().first;
  const uint64_t end = rows.back().first + rows.back().weights.size();
  const size_t each = channels * to.width;
  std::vector<unsigned char> narrow((end - first) * each);
  for (uint64_t row = first; row < end; ++row)
    scale_row(rgb + row * from.width * channels, columns,
              narrow.data() + (row - first) * each);
  std::vector<uint32_t> sums(each);
  for (size_t y = 0; y < to.height; ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    const unsigned char* at = narrow.data() + (rows[y].first - first) * each;
    for (uint32_t weight : rows[y].weights) {
      for (size_t i = 0; i < each; ++i)
        sums[i] += weight * at[i];
      at += each;
    }
    for (size_t channel = 0; channel < channels; ++channel)
      for (size_t x = 0; x < to.width; ++x)
        planes[(channel * to.height + y) * to.width + x] =
            byte_of(sums[channel * to.width + x]);
  }
}

} // namespace ballast::data
