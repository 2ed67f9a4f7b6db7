/// An image as it is looked at on its way into a batch: a part of a stored one,
/// mirrored or not, with zeros where it reaches beyond. Taking a part and
/// mirroring only change how it is looked at; the values are read once, when
/// they are converted to floats. Plain values and pure functions; the stored
/// values are the caller's.
#pragma once

#include "runtime/augment/augment_catalogue.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstddef>
#include <cstdint>

namespace ballast::data {

struct image_view {
  const void* values = nullptr; // planes, one channel after another
  ledger::stored_type stored{};
  int64_t channels = 0;
  int64_t plane = 0; // values from a channel to the next
  int64_t line = 0;  // and from a row to the next
  int64_t height = 0;
  int64_t width = 0;
  /// Where the first pixel lies in the plane, and which way the next is: 1, or
  /// -1 if mirrored.
  int64_t top = 0;
  int64_t left = 0;
  int64_t down = 1;
  int64_t right = 1;
  /// Of its rows and columns those that have values; the others are 0.
  int64_t rows_begin = 0;
  int64_t rows_end = 0;
  int64_t columns_begin = 0;
  int64_t columns_end = 0;

  /// Nothing but the values as they lie there.
  bool is_plain() const {
    return down == 1 && right == 1 && rows_begin == 0 && rows_end == height &&
           columns_begin == 0 && columns_end == width;
  }
};

/// All of an image whose planes follow each other without a gap.
image_view whole_image(const void* values, ledger::stored_type stored,
                       int64_t channels, int64_t height, int64_t width);
/// The part that begins there, which may lie outside on any side.
void take_part(image_view& of, int64_t top, int64_t left, int64_t height,
               int64_t width);
void mirror(image_view& of, augment::axis along);

/// What a stored value becomes, by channel: value * factor + summand.
struct channel_map {
  float factor[3] = {1, 1, 1};
  float summand[3] = {0, 0, 0};
};

/// `out`: channels x height x width.
void convert(const image_view& from, const channel_map& how, float* out);

} // namespace ballast::data
