#include "data/source/image_codec.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

namespace ballast::data {

namespace {

/// Above it, threads would take more memory than they save time.
constexpr uint64_t pixels_side_by_side = 16'000'000;

bool begins_with(image_bytes file, std::string_view magic, size_t at = 0) {
  return file.size() >= at + magic.size() &&
         std::memcmp(file.data() + at, magic.data(), magic.size()) == 0;
}

bool is_text(image_bytes file) {
  constexpr size_t looked_at = 64;
  const image_bytes begin = file.first(std::min(file.size(), looked_at));
  return std::all_of(begin.begin(), begin.end(), [](unsigned char c) {
    return (c >= ' ' && c != 0x7f) || (c >= '\t' && c <= '\r');
  });
}

[[noreturn]] void refuse_kind(image_bytes file) {
  const std::string wanted = "; expected JPEG or PNG";
  if (file.empty())
    throw image_refusal("is empty" + wanted + "; fetch it again, or remove it");
  std::string kind;
  if (begins_with(file, "GIF8"))
    kind = "GIF";
  else if (begins_with(file, "RIFF") && begins_with(file, "WEBP", 8))
    kind = "WebP";
  else if (begins_with(file, "BM"))
    kind = "BMP";
  else if (begins_with(file, {"II*\0", 4}) || begins_with(file, {"MM\0*", 4}))
    kind = "TIFF";
  if (!kind.empty())
    throw image_refusal("is a " + kind + " image" + wanted + "; convert it");
  throw image_refusal(
      std::string(is_text(file) ? "is text, no image" : "is no image") +
      wanted + "; fetch it again, or remove it");
}

std::mutex& of_large_images() {
  static std::mutex one;
  return one;
}

} // namespace

void check_pixels(image_size size) {
  if (size.height == 0 || size.width == 0)
    throw image_refusal("has no pixels: " + std::to_string(size.width) + " x " +
                        std::to_string(size.height) + "; remove it");
  if (size.width > image_pixels_max / size.height)
    throw image_refusal("claims " + std::to_string(size.width) + " x " +
                        std::to_string(size.height) +
                        " pixels, more than the " +
                        std::to_string(image_pixels_max) +
                        " that an image may have; make it smaller, or remove "
                        "it");
}

rgb_image room_for(image_size size) {
  rgb_image out;
  out.size = size;
  const uint64_t pixels = size.height * size.width;
  if (pixels > pixels_side_by_side)
    out.turn = std::unique_lock(of_large_images());
  out.pixels = std::make_unique_for_overwrite<unsigned char[]>(3 * pixels);
  return out;
}

void decode_image(image_bytes file, image_size to, unsigned char* planes) {
  if (file.size() > image_bytes_max)
    throw image_refusal("has more than " + std::to_string(image_bytes_max) +
                        " bytes; make it smaller, or remove it");
  rgb_image image;
  if (begins_with(file, "\xff\xd8\xff"))
    image = decode_jpeg(file, to);
  else if (begins_with(file, "\x89PNG\r\n\x1a\n"))
    image = decode_png(file);
  else
    refuse_kind(file);
  scale_and_crop(image.pixels.get(), image.size, to, planes);
}

} // namespace ballast::data
