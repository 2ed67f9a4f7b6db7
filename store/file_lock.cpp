#include "store/file_lock.hpp"

#include "runtime/base/errors.hpp"
#include "store/work_watch.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>

namespace ballast {

file_lock::file_lock(const std::filesystem::path& path)
    : file_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666)) {
  if (!file_)
    throw ballast_error(
        errno == ENOSPC || errno == EDQUOT ? errc::disk_full
                                           : errc::run_dir_unusable,
        "cannot write " + path.string() + ": " + std::strerror(errno) +
            "; make the cache folder writable or point "
            "$BALLAST_CACHE elsewhere");
}

bool file_lock::take(mode as, std::chrono::milliseconds wait,
                     const work_watch& stop) {
  constexpr std::chrono::milliseconds pause{10};
  const int kind = as == mode::shared ? LOCK_SH : LOCK_EX;
  for (;;) {
    if (::flock(file_.get(), kind | LOCK_NB) == 0)
      return true;
    if (errno != EWOULDBLOCK && errno != EINTR)
      throw ballast_error(errc::run_dir_unusable,
                          std::string("the cache folder cannot be locked: ") +
                              std::strerror(errno) +
                              "; point $BALLAST_CACHE to a local disk");
    check_stop(stop);
    if (wait <= std::chrono::milliseconds{0})
      return false;
    std::this_thread::sleep_for(pause);
    wait -= pause;
  }
}

bool file_lock::is_at(const std::filesystem::path& path) const {
  struct stat here {};
  struct stat there {};
  return ::fstat(file_.get(), &here) == 0 &&
         ::stat(path.c_str(), &there) == 0 && here.st_ino == there.st_ino &&
         here.st_dev == there.st_dev;
}

void file_lock::release() {
  ::flock(file_.get(), LOCK_UN);
}

} // namespace ballast
