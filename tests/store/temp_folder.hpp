/// A folder of a test's own, gone with it.
#pragma once

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <stdlib.h>
#include <string>

namespace ballast::store {

class temp_folder {
public:
  temp_folder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "ballast-test-XXXXXX")
            .string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("no temporary folder " + pattern);
    path_ = pattern;
  }
  ~temp_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temp_folder(const temp_folder&) = delete;
  temp_folder& operator=(const temp_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const {
    return path_ / name;
  }

private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_content(const std::filesystem::path& file,
                          const std::string& content) {
  std::ofstream(file, std::ios::binary) << content;
}

} // namespace ballast::store
