#include "runtime/base/unique_fd.hpp"

#include <cerrno>
#include <unistd.h>

namespace ballast {

void unique_fd::reset(int fd) noexcept {
  int error_number = errno;
  if (fd_ >= 0)
    ::close(fd_);
  fd_ = fd;
  errno = error_number;
}

} // namespace ballast
