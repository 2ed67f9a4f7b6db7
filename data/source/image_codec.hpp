/// Image files, decoded: JPEG by libjpeg-turbo, PNG by libspng. What a file is
/// follows from its bytes, not from its name. Grey and palettes become three
/// channels, transparency is dropped, of 16 bits the high byte is taken; colour
/// profiles and the rotation of a camera are not applied. Any thread.
///
/// Errors: image_refusal, whose text goes on after the name of the file.
#pragma once

#include "data/source/image_scale.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>

namespace ballast::data {

/// A larger file is no image that anybody trains on.
constexpr size_t image_bytes_max = size_t{256} << 20;
/// Refused before memory is taken: some bytes can claim any size.
constexpr uint64_t image_pixels_max = 100'000'000;

/// "is torn: ...; fetch it again, or remove it".
class image_refusal : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

using image_bytes = std::span<const unsigned char>;

/// Decodes the file, and brings the image to the size of a row: red, green and
/// blue plane. A large JPEG is decoded at a fraction of its size.
void decode_image(image_bytes file, image_size to, unsigned char* planes);

// -- for the decoders ---------------------------------------------------------

/// Three bytes a pixel, row after row.
struct rgb_image {
  image_size size;
  std::unique_ptr<unsigned char[]> pixels;
  /// Of an image so large that only one at a time is decoded.
  std::unique_lock<std::mutex> turn;
};

/// Refuses what has no pixels, or too many.
void check_pixels(image_size size);
/// Waits for its turn if the image is large.
rgb_image room_for(image_size size);

/// At the smallest scale at which it still covers `to`.
rgb_image decode_jpeg(image_bytes file, image_size to);
rgb_image decode_png(image_bytes file);

} // namespace ballast::data
