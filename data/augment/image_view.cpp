#include "data/augment/image_view.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>

namespace ballast::data {

namespace {

/// Of one channel: rows and columns that have values.
struct plane_copy {
  int64_t rows;
  int64_t columns;
  int64_t from_line; // negative where the next row is the one above
  int64_t to_line;
  float factor;
  float summand;
  bool mirrored; // `from` is what comes last in each row
};

/// Both directions without a branch in the inner loop, so that the compiler
/// vectorises them (this file is built with -O3, and without fused
/// multiply-add: the same bits on every machine).
template <class T>
[[gnu::always_inline]] inline void convert_rows(const T* from, float* to,
                                                const plane_copy& how) {
  const float factor = how.factor;
  const float summand = how.summand;
  const int64_t columns = how.columns;
  for (int64_t y = 0; y < how.rows; ++y) {
    const T* __restrict values = from + y * how.from_line;
    float* __restrict out = to + y * how.to_line;
    if (how.mirrored)
      for (int64_t x = 0; x < columns; ++x)
        out[columns - 1 - x] = float(values[x]) * factor + summand;
    else
      for (int64_t x = 0; x < columns; ++x)
        out[x] = float(values[x]) * factor + summand;
  }
}

BALLAST_VECTORIZED
void convert_plane(const uint8_t* from, float* to, const plane_copy& how) {
  convert_rows(from, to, how);
}
BALLAST_VECTORIZED
void convert_plane(const float* from, float* to, const plane_copy& how) {
  convert_rows(from, to, how);
}
void convert_plane(const int16_t* from, float* to, const plane_copy& how) {
  convert_rows(from, to, how);
}
void convert_plane(const int32_t* from, float* to, const plane_copy& how) {
  convert_rows(from, to, how);
}

/// What lies around the values.
void fill_around(const image_view& from, float value, float* out) {
  const auto fill = [&](int64_t y, int64_t begin, int64_t end) {
    std::fill(out + y * from.width + begin, out + y * from.width + end, value);
  };
  for (int64_t y = 0; y < from.height; ++y)
    if (y < from.rows_begin || y >= from.rows_end) {
      fill(y, 0, from.width);
    } else {
      fill(y, 0, from.columns_begin);
      fill(y, from.columns_end, from.width);
    }
}

template <class T>
void convert_image(const image_view& from, const channel_map& map, float* out) {
  const bool mirrored = from.right < 0;
  plane_copy how{};
  how.rows = from.rows_end - from.rows_begin;
  how.columns = from.columns_end - from.columns_begin;
  how.from_line = from.down * from.line;
  how.to_line = from.width;
  how.mirrored = mirrored;
  const int64_t first_column =
      mirrored ? from.columns_end - 1 : from.columns_begin;
  const int64_t first = (from.top + from.down * from.rows_begin) * from.line +
                        from.left + from.right * first_column;
  for (int64_t channel = 0; channel < from.channels; ++channel) {
    float* to = out + channel * from.height * from.width;
    if (how.rows < from.height || how.columns < from.width)
      fill_around(from, map.summand[channel], to);
    how.factor = map.factor[channel];
    how.summand = map.summand[channel];
    if (how.rows > 0 && how.columns > 0)
      convert_plane(
          static_cast<const T*>(from.values) + channel * from.plane + first,
          to + from.rows_begin * from.width + from.columns_begin, how);
  }
}

/// [begin, end) moved by `before` and cut to [0, length).
void move_range(int64_t& begin, int64_t& end, int64_t before, int64_t length) {
  begin = std::clamp<int64_t>(begin - before, 0, length);
  end = std::clamp<int64_t>(end - before, begin, length);
}

void turn_range(int64_t& begin, int64_t& end, int64_t length) {
  const int64_t was = begin;
  begin = length - end;
  end = length - was;
}

} // namespace

image_view whole_image(const void* values, ledger::stored_type stored,
                       int64_t channels, int64_t height, int64_t width) {
  image_view out;
  out.values = values;
  out.stored = stored;
  out.channels = channels;
  out.plane = height * width;
  out.line = width;
  out.height = out.rows_end = height;
  out.width = out.columns_end = width;
  return out;
}

void take_part(image_view& of, int64_t top, int64_t left, int64_t height,
               int64_t width) {
  of.top += of.down * top;
  of.left += of.right * left;
  move_range(of.rows_begin, of.rows_end, top, height);
  move_range(of.columns_begin, of.columns_end, left, width);
  of.height = height;
  of.width = width;
}

void mirror(image_view& of, augment::axis along) {
  if (along == augment::axis::horizontal) {
    of.left += of.right * (of.width - 1);
    of.right = -of.right;
    turn_range(of.columns_begin, of.columns_end, of.width);
  } else {
    of.top += of.down * (of.height - 1);
    of.down = -of.down;
    turn_range(of.rows_begin, of.rows_end, of.height);
  }
}

void convert(const image_view& from, const channel_map& how, float* out) {
  switch (from.stored) {
  case ledger::stored_type::uint8:
    return convert_image<uint8_t>(from, how, out);
  case ledger::stored_type::int16:
    return convert_image<int16_t>(from, how, out);
  case ledger::stored_type::int32:
    return convert_image<int32_t>(from, how, out);
  case ledger::stored_type::float32:
    return convert_image<float>(from, how, out);
  }
}

} // namespace ballast::data
