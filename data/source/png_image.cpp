/// PNG, by libspng.
#include "data/source/image_codec.hpp"

#include <new>
#include <spng.h>
#include <string>

namespace ballast::data {

namespace {

struct context_end {
  void operator()(spng_ctx* context) const { spng_ctx_free(context); }
};

void check(int result) {
  if (result == SPNG_EMEM)
    throw std::bad_alloc();
  if (result != 0)
    throw image_refusal(
        "is torn or damaged: " + std::string(spng_strerror(result)) +
        "; fetch it again, or remove it");
}

/// What the file says, before the library looks at it. The header stands first
/// and has a fixed place.
image_size size_of(image_bytes file) {
  constexpr size_t width_at = 16;
  constexpr size_t height_at = 20;
  if (file.size() < height_at + 4)
    check(SPNG_IO_EOF);
  const auto number = [file](size_t at) {
    uint64_t out = 0;
    for (size_t i = 0; i < 4; ++i)
      out = out << 8 | file[at + i];
    return out;
  };
  return {number(height_at), number(width_at)};
}

} // namespace

rgb_image decode_png(image_bytes file) {
  check_pixels(size_of(file));
  const std::unique_ptr<spng_ctx, context_end> context(spng_ctx_new(0));
  if (context == nullptr)
    throw std::bad_alloc();
  // Texts and profiles, which nobody reads here, may unpack to anything.
  constexpr size_t beside_the_pixels = size_t{64} << 20;
  check(spng_set_chunk_limits(context.get(), beside_the_pixels,
                              beside_the_pixels));
  check(spng_set_png_buffer(context.get(), file.data(), file.size()));
  size_t bytes = 0;
  check(spng_decoded_image_size(context.get(), SPNG_FMT_RGB8, &bytes));
  spng_ihdr header{};
  check(spng_get_ihdr(context.get(), &header));
  const image_size size{header.height, header.width};
  check_pixels(size);
  rgb_image out = room_for(size);
  if (bytes != 3 * size.height * size.width)
    check(SPNG_EOVERFLOW);
  check(spng_decode_image(context.get(), out.pixels.get(), bytes, SPNG_FMT_RGB8,
                          0));
  // A file that ends behind its pixels is torn, too.
  check(spng_decode_chunks(context.get()));
  return out;
}

} // namespace ballast::data
