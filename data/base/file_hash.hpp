/// The content_hash of a file, without loading all of it. Any thread.
#pragma once

#include "data/base/content_hash.hpp"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace ballast::data {

struct file_hash {
  std::string hex; // of so many bytes
  uint64_t bytes = 0;
  bool whole = false; // it could be read up to its end
};

inline file_hash hash_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string block(size_t{1} << 20, '\0');
  content_hash hash;
  file_hash out;
  while (in.read(block.data(), std::streamsize(block.size())),
         in.gcount() > 0) {
    hash.update(block.data(), size_t(in.gcount()));
    out.bytes += uint64_t(in.gcount());
  }
  out.whole = in.eof();
  out.hex = hex16(hash.digest());
  return out;
}

} // namespace ballast::data
