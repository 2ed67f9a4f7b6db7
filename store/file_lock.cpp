#include "store/file_lock.hpp"

#include "store/work_watch.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

namespace ballast::store {

file_lock::file_lock(const std::filesystem::path& path)
    : file_lock(path, options{}) {}

file_lock::file_lock(const std::filesystem::path& path, const options& how)
    : path_(path),
      file_(::open(path.c_str(),
                   O_RDWR | O_CLOEXEC | (how.create ? O_CREAT : 0) |
                       (how.follow_links ? 0 : O_NOFOLLOW),
                   mode_t(how.permissions))) {
  if (!file_)
    error_ = errno;
}

bool file_lock::take(mode as, std::chrono::milliseconds wait,
                     const work_watch& stop) {
  constexpr std::chrono::milliseconds pause{10};
  const int kind = as == mode::shared ? LOCK_SH : LOCK_EX;
  for (;;) {
    if (::flock(file_.get(), kind | LOCK_NB) == 0)
      return true;
    if (errno != EWOULDBLOCK && errno != EINTR) {
      error_ = errno;
      return false;
    }
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

bool file_lock::write_holder() {
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::pwrite(file_.get(), pid.data(), pid.size(), 0) == ssize_t(pid.size()) &&
      ::ftruncate(file_.get(), off_t(pid.size())) == 0)
    return true;
  error_ = errno;
  return false;
}

std::string file_lock::holder() const {
  struct stat about {};
  std::string wanted;
  if (::fstat(file_.get(), &about) == 0)
    wanted = ":" + std::to_string(about.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; !wanted.empty() && std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, advice, access, pid;
    if (line.find(wanted) != std::string::npos &&
        words >> number >> kind >> advice >> access >> pid && kind == "FLOCK" &&
        std::atol(pid.c_str()) > 0)
      return "process " + pid;
  }
  std::string pid;
  std::ifstream(path_) >> pid;
  return pid.empty() ? "another process" : "process " + pid;
}

} // namespace ballast::store
