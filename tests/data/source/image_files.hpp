/// Image files and tar archives for tests, encoded here.
#pragma once

#include "data/source/image_scale.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <functional>
#include <spng.h>
#include <stdexcept>
#include <string>
#include <turbojpeg.h>
#include <utility>
#include <vector>

namespace ballast::data {

struct colour {
  unsigned char red = 0;
  unsigned char green = 0;
  unsigned char blue = 0;
};

/// Three bytes a pixel; `at` says the colour of row and column.
inline std::string
pixels_of(image_size size,
          const std::function<colour(uint64_t, uint64_t)>& at) {
  std::string out;
  for (uint64_t y = 0; y < size.height; ++y)
    for (uint64_t x = 0; x < size.width; ++x) {
      const colour c = at(y, x);
      out += {char(c.red), char(c.green), char(c.blue)};
    }
  return out;
}

inline std::string plain_pixels(image_size size, colour c) {
  return pixels_of(size, [c](uint64_t, uint64_t) { return c; });
}

inline std::string png_of(image_size size, const std::string& bytes,
                          int colour_type = SPNG_COLOR_TYPE_TRUECOLOR,
                          int depth = 8) {
  spng_ctx* context = spng_ctx_new(SPNG_CTX_ENCODER);
  spng_set_option(context, SPNG_ENCODE_TO_BUFFER, 1);
  spng_ihdr header{uint32_t(size.width),
                   uint32_t(size.height),
                   uint8_t(depth),
                   uint8_t(colour_type),
                   0,
                   0,
                   0};
  spng_set_ihdr(context, &header);
  if (colour_type == SPNG_COLOR_TYPE_INDEXED) {
    spng_plte palette{2, {{10, 20, 30, 255}, {40, 50, 60, 255}}};
    spng_set_plte(context, &palette);
  }
  if (const int wrong = spng_encode_image(context, bytes.data(), bytes.size(),
                                          SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE))
    throw std::runtime_error(spng_strerror(wrong));
  size_t length = 0;
  int wrong = 0;
  void* made = spng_get_png_buffer(context, &length, &wrong);
  std::string out(static_cast<char*>(made), length);
  std::free(made);
  spng_ctx_free(context);
  return out;
}

inline std::string jpeg_of(image_size size, const std::string& bytes,
                           int format = TJPF_RGB, int sampling = TJSAMP_444) {
  tjhandle handle = tjInitCompress();
  unsigned char* made = nullptr;
  unsigned long length = 0;
  if (tjCompress2(handle, reinterpret_cast<const unsigned char*>(bytes.data()),
                  int(size.width), 0, int(size.height), format, &made, &length,
                  sampling, 95, TJFLAG_ACCURATEDCT) != 0)
    throw std::runtime_error(tjGetErrorStr2(handle));
  std::string out(reinterpret_cast<char*>(made), length);
  tjFree(made);
  tjDestroy(handle);
  return out;
}

using tar_members = std::vector<std::pair<std::string, std::string>>;

/// Written as the name ends: .tar or .tar.gz.
inline std::string write_tar(const std::string& path,
                             const tar_members& members) {
  struct archive* to = archive_write_new();
  if (path.ends_with(".gz"))
    archive_write_add_filter_gzip(to);
  archive_write_set_format_pax_restricted(to);
  archive_write_open_filename(to, path.c_str());
  for (const auto& [name, bytes] : members) {
    struct archive_entry* one = archive_entry_new();
    archive_entry_set_pathname(one, name.c_str());
    archive_entry_set_size(one, la_int64_t(bytes.size()));
    archive_entry_set_filetype(one, name.ends_with('/') ? AE_IFDIR : AE_IFREG);
    archive_entry_set_perm(one, 0644);
    archive_write_header(to, one);
    archive_write_data(to, bytes.data(), bytes.size());
    archive_entry_free(one);
  }
  archive_write_close(to);
  archive_write_free(to);
  return path;
}

} // namespace ballast::data
