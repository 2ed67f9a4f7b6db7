/// JPEG, by libjpeg-turbo's own interface.
#include "data/source/image_codec.hpp"

#include <new>
#include <string>
#include <turbojpeg.h>

namespace ballast::data {

namespace {

struct handle_end {
  void operator()(void* handle) const { tjDestroy(handle); }
};

[[noreturn]] void refuse_damaged(const std::string& why) {
  // The library says no more than that.
  if (why.find("Empty JPEG") != std::string::npos)
    check_pixels({});
  throw image_refusal("is torn or damaged: " + why +
                      "; fetch it again, or remove it");
}

/// What is left of a side at a scale, as the library rounds.
image_size scaled(image_size size, tjscalingfactor by) {
  const auto side = [by](uint64_t length) {
    return uint64_t(TJSCALED(int(length), by));
  };
  return {side(size.height), side(size.width)};
}

image_size smallest_that_covers(image_size full, image_size to) {
  const image_size needed = covering(full, to);
  image_size out = full;
  int count = 0;
  const tjscalingfactor* factors = tjGetScalingFactors(&count);
  for (int i = 0; i < count; ++i) {
    const image_size one = scaled(full, factors[i]);
    if (one.height >= needed.height && one.width >= needed.width &&
        one.width < out.width)
      out = one;
  }
  return out;
}

} // namespace

rgb_image decode_jpeg(image_bytes file, image_size to) {
  // A new one for each file: it keeps tables, with which a file that has none
  // would be decoded as whatever came before it.
  const std::unique_ptr<void, handle_end> owned(tjInitDecompress());
  const tjhandle handle = owned.get();
  if (handle == nullptr)
    throw std::bad_alloc();
  int width = 0;
  int height = 0;
  int sampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(handle, file.data(), file.size(), &width, &height,
                          &sampling, &colours) != 0)
    refuse_damaged(tjGetErrorStr2(handle));
  if (width == 0 && height == 0) // tables, and no image
    refuse_damaged("it ends before the image begins");
  const image_size full{uint64_t(height), uint64_t(width)};
  check_pixels(full);
  if (colours == TJCS_CMYK || colours == TJCS_YCCK)
    throw image_refusal("has the colours of print (CMYK), which have no one "
                        "way to red, green and blue; convert it to RGB");
  rgb_image out = room_for(smallest_that_covers(full, to));
  // Accurate, so that the bits do not depend on the machine; and a warning is
  // all that the library has to say of a torn file.
  constexpr int flags =
      TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  if (tjDecompress2(handle, file.data(), file.size(), out.pixels.get(),
                    int(out.size.width), 0, int(out.size.height), TJPF_RGB,
                    flags) != 0)
    refuse_damaged(tjGetErrorStr2(handle));
  return out;
}

} // namespace ballast::data
