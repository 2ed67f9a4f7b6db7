#include "data/augment/image_resize.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cstdlib>

namespace ballast::data {

namespace {

/// The inner loops run along a row, without a branch, so that the compiler
/// vectorises them (this file is built with -O3, and without fused
/// multiply-add: the same bits on every machine).
template <class T>
[[gnu::always_inline]] inline void
sum_rows(const T* __restrict from, int64_t line, const float* weights,
         int64_t weight_step, int64_t taps, int64_t width,
         float* __restrict out) {
  for (int64_t x = 0; x < width; ++x)
    out[x] = weights[0] * float(from[x]);
  for (int64_t tap = 1; tap < taps; ++tap) {
    const float weight = weights[tap * weight_step];
    const T* __restrict values = from + tap * line;
    if (weight != 0) // also: beyond the last row
      for (int64_t x = 0; x < width; ++x)
        out[x] += weight * float(values[x]);
  }
}

BALLAST_VECTORIZED
void make_line(const uint8_t* from, int64_t line, const float* weights,
               int64_t weight_step, int64_t taps, int64_t width, float* out) {
  sum_rows(from, line, weights, weight_step, taps, width, out);
}
BALLAST_VECTORIZED
void make_line(const float* from, int64_t line, const float* weights,
               int64_t weight_step, int64_t taps, int64_t width, float* out) {
  sum_rows(from, line, weights, weight_step, taps, width, out);
}
void make_line(const int16_t* from, int64_t line, const float* weights,
               int64_t weight_step, int64_t taps, int64_t width, float* out) {
  sum_rows(from, line, weights, weight_step, taps, width, out);
}
void make_line(const int32_t* from, int64_t line, const float* weights,
               int64_t weight_step, int64_t taps, int64_t width, float* out) {
  sum_rows(from, line, weights, weight_step, taps, width, out);
}

/// `line` goes on behind its last pixel, by as many as there are taps.
BALLAST_VECTORIZED
void sum_columns(const float* __restrict line, const int32_t* __restrict first,
                 const float* __restrict weights, int64_t taps, int64_t made,
                 float* __restrict out) {
  for (int64_t x = 0; x < made; ++x)
    out[x] = weights[x] * line[first[x]];
  for (int64_t tap = 1; tap < taps; ++tap) {
    const float* __restrict weight = weights + tap * made;
    const float* __restrict values = line + tap;
    for (int64_t x = 0; x < made; ++x)
      out[x] += weight[x] * values[first[x]];
  }
}

template <class T>
void resize_image(const image_view& from, int64_t height, int64_t width,
                  resize_room& room, float* out) {
  const resize_weights& rows = room.rows;
  const resize_weights& columns = room.columns;
  room.line.assign(size_t(from.width + columns.taps), 0);
  for (int64_t channel = 0; channel < from.channels; ++channel) {
    const T* values = static_cast<const T*>(from.values) +
                      channel * from.plane + from.top * from.line + from.left;
    for (int64_t y = 0; y < height; ++y) {
      make_line(values + rows.first[size_t(y)] * from.line, from.line,
                rows.weights.data() + y, height, rows.taps, from.width,
                room.line.data());
      sum_columns(room.line.data(), columns.first.data(),
                  columns.weights.data(), columns.taps, width,
                  out + (channel * height + y) * width);
    }
  }
}

} // namespace

// Lengths are in halves of 1/made of an old pixel, in which the middles of old
// and new pixels are whole numbers.
void make_weights(int64_t old, int64_t made, resize_weights& out) {
  const int64_t reach = 2 * std::max(old, made);
  const int64_t step = 2 * made;
  // A window has reach on both sides, which holds at most so many middles.
  const int64_t taps = std::min(old, 2 * reach / step + 1);
  out.taps = taps;
  out.first.assign(size_t(made), 0);
  out.weights.assign(size_t(taps * made), 0);
  for (int64_t pixel = 0; pixel < made; ++pixel) {
    const int64_t middle = (2 * pixel + 1) * old;
    const auto share_at = [&](int64_t at) {
      return std::max<int64_t>(0,
                               reach - std::abs((2 * at + 1) * made - middle));
    };
    int64_t first = std::max<int64_t>(0, (middle - reach) / step - 1);
    while (share_at(first) == 0)
      ++first;
    int64_t sum = 0;
    const int64_t end = std::min(old, first + taps);
    for (int64_t at = first; at < end; ++at)
      sum += share_at(at);
    out.first[size_t(pixel)] = int32_t(first);
    for (int64_t at = first; at < end; ++at)
      out.weights[size_t((at - first) * made + pixel)] =
          float(double(share_at(at)) / double(sum));
  }
}

void resize(const image_view& from, int64_t height, int64_t width,
            resize_room& room, float* out) {
  make_weights(from.height, height, room.rows);
  make_weights(from.width, width, room.columns);
  switch (from.stored) {
  case ledger::stored_type::uint8:
    return resize_image<uint8_t>(from, height, width, room, out);
  case ledger::stored_type::int16:
    return resize_image<int16_t>(from, height, width, room, out);
  case ledger::stored_type::int32:
    return resize_image<int32_t>(from, height, width, room, out);
  case ledger::stored_type::float32:
    return resize_image<float>(from, height, width, room, out);
  }
}

} // namespace ballast::data
