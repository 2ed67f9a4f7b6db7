#include "data/model/checkpoint_writing.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "store/refuse_file.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <unistd.h>

namespace ballast::data {

namespace fs = std::filesystem;

void writing_failed(const fs::path& path, const char* action) {
  int number = errno;
  throw ballast_error(store::means_disk_full(number) ? errc::disk_full
                                                     : errc::run_dir_unusable,
                      std::string("cannot ") + action + " " + path.string() +
                          ": " + std::strerror(number));
}

void reach_writing(const char* point, const fs::path& path) {
  errno = fault_point(point);
  if (errno != 0)
    writing_failed(path, "write");
}

void write_bytes_at(int fd, uint64_t at, std::string_view rest,
                    const fs::path& path) {
  while (!rest.empty()) {
    const ssize_t count = ::pwrite(fd, rest.data(), rest.size(), off_t(at));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      writing_failed(path, "write");
    at += uint64_t(count);
    rest.remove_prefix(size_t(count));
  }
}

} // namespace ballast::data
