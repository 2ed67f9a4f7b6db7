/// A file that is written anew, and then grows. Throws std::system_error.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

namespace ballast::monitor {

class appended_file {
public:
  explicit appended_file(const std::filesystem::path& place)
      : out_(place, std::ios::binary | std::ios::trunc) {
    check("open");
  }
  void append(std::string_view text) {
    out_.write(text.data(), std::streamsize(text.size()));
    check("write");
  }
  void flush() {
    out_.flush();
    check("write");
  }

private:
  void check(const char* action) {
    if (!out_)
      throw std::system_error(errno, std::generic_category(), action);
  }
  std::ofstream out_;
};

} // namespace ballast::monitor
