#include "store/atomic_file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ballast::store {

namespace {

/// No other thread of this process, and no other process, has it.
std::string unfinished_name(const std::string& beside) {
  static std::atomic<uint64_t> made{0};
  return beside + "." + std::to_string(::getpid()) + "-" +
         std::to_string(++made) + ".tmp";
}

/// Less is not worth a call.
constexpr size_t begun_early_min = size_t{1} << 20;

/// The disk begins with what was just written, while the rest is made, and the
/// sync at the end waits for less. What fails is found there.
void begin_writing(int file, size_t bytes) {
  const off_t end = ::lseek(file, 0, SEEK_CUR);
  if (end >= off_t(bytes))
    (void)::sync_file_range(file, end - off_t(bytes), off_t(bytes),
                            SYNC_FILE_RANGE_WRITE);
}

} // namespace

atomic_file::atomic_file(std::filesystem::path place)
    : atomic_file(std::move(place), options{}) {}

atomic_file::atomic_file(std::filesystem::path place, options how)
    : place_(std::move(place)), how_(std::move(how)) {
  const std::filesystem::path beside =
      (how_.unfinished_in.empty() ? place_.parent_path() : how_.unfinished_in) /
      place_.filename();
  // A name that is taken is a killed process's whose number came again.
  do {
    unfinished_ = unfinished_name(beside.string());
    file_ = unique_fd(::open(unfinished_.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                             mode_t(how_.permissions)));
  } while (!file_ && errno == EEXIST);
  if (!file_)
    fail("make", errno);
}

atomic_file::~atomic_file() {
  if (!unfinished_.empty())
    ::unlink(unfinished_.c_str());
}

void atomic_file::reach(const char* action) const {
  if (int fault = how_.fault ? how_.fault(action) : 0)
    fail(action, fault);
}

void atomic_file::append(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  const size_t all = bytes;
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
  if (how_.durability == outlives::power && all >= begun_early_min)
    begin_writing(file_.get(), all);
}

void atomic_file::publish() {
  if (how_.exact && ::fchmod(file_.get(), mode_t(how_.permissions)) != 0)
    fail("write", errno);
  if (how_.durability == outlives::power && ::fsync(file_.get()) != 0)
    fail("sync", errno);
  if (::close(file_.release()) != 0)
    fail("close", errno);
  reach("replace");
  if (::rename(unfinished_.c_str(), place_.c_str()) != 0)
    fail("replace", errno);
  unfinished_.clear();
  if (how_.durability == outlives::process)
    return;
  // The new name must survive a power cut, too, where the file system can.
  const std::filesystem::path folder = place_.parent_path();
  unique_fd parent(::open(folder.empty() ? "." : folder.c_str(),
                          O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (parent)
    (void)::fsync(parent.get());
}

} // namespace ballast::store
