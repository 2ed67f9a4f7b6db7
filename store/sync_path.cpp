#include "store/sync_path.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/unique_fd.hpp"
#include "store/refuse_file.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace ballast::store {

void sync_path(const std::filesystem::path& path) {
  unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  int result = file ? ::fsync(file.get()) : -1;
  const int number = errno;
  if (result != 0 && number != EINVAL && number != ENOENT)
    throw ballast_error(
        means_disk_full(number) ? errc::disk_full : errc::run_dir_unusable,
        "cannot sync " + path.string() + ": " + std::strerror(number));
}

} // namespace ballast::store
