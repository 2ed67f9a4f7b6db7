#include "store/atomic_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ballast {

atomic_file::atomic_file(std::filesystem::path place)
    : atomic_file(std::move(place), options{}) {}

// The name holds the process, because several write into one folder; mkstemp's
// suffix tells threads apart.
atomic_file::atomic_file(std::filesystem::path place, options how)
    : place_(std::move(place)), how_(std::move(how)),
      unfinished_(((how_.unfinished_in.empty() ? place_.parent_path()
                                               : how_.unfinished_in) /
                   (place_.filename().string() + "." +
                    std::to_string(::getpid()) + ".XXXXXX"))
                      .string()),
      file_(::mkostemp(unfinished_.data(), O_CLOEXEC)) {
  if (!file_)
    fail("make", errno);
}

atomic_file::~atomic_file() {
  if (!unfinished_.empty() && file_)
    ::unlink(unfinished_.c_str());
}

void atomic_file::reach(const char* action) const {
  if (int fault = how_.fault ? how_.fault(action) : 0)
    fail(action, fault);
}

void atomic_file::append(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    reach("write");
    const ssize_t written = ::write(file_.get(), at, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      fail("write", errno);
    at += written;
    bytes -= size_t(written);
  }
}

void atomic_file::publish() {
  if (::fchmod(file_.get(), 0644) != 0)
    fail("write", errno);
  if (how_.durability == outlives::power && ::fsync(file_.get()) != 0)
    fail("sync", errno);
  reach("replace");
  if (::rename(unfinished_.c_str(), place_.c_str()) != 0)
    fail("replace", errno);
  unfinished_.clear();
  file_.reset();
  if (how_.durability == outlives::process)
    return;
  // The new name must survive a power cut, too, where the file system can.
  const std::filesystem::path folder = place_.parent_path();
  unique_fd parent(::open(folder.empty() ? "." : folder.c_str(),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent)
    (void)::fsync(parent.get());
}

} // namespace ballast
