#include "store/line_file.hpp"

#include "runtime/base/fault_point.hpp"
#include "store/refuse_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace ballast::store {

namespace {

/// The length up to and including the last line end; sets `last` to the last
/// whole line. Reads backwards, because the file may be long and the line
/// short.
uint64_t whole_lines(int descriptor, const std::filesystem::path& path,
                     std::string* last) {
  off_t size = lseek(descriptor, 0, SEEK_END);
  if (size < 0)
    refuse_file(path, "read", errno);
  std::string tail; // the file from `from` on
  off_t from = size;
  while (true) {
    size_t line_end = tail.rfind('\n');
    size_t line_begin = line_end == std::string::npos || line_end == 0
                            ? std::string::npos
                            : tail.rfind('\n', line_end - 1);
    bool found_end = line_end != std::string::npos;
    if (from == 0 || (found_end && line_begin != std::string::npos)) {
      if (!found_end)
        return 0;
      size_t first = line_begin == std::string::npos ? 0 : line_begin + 1;
      if (last)
        *last = tail.substr(first, line_end - first);
      return uint64_t(from) + line_end + 1;
    }
    off_t count = std::min<off_t>(from, 64 * 1024);
    std::string block(size_t(count), '\0');
    ssize_t got = pread(descriptor, block.data(), block.size(), from - count);
    if (got != count)
      refuse_file(path, "read", got < 0 ? errno : EIO);
    tail.insert(0, block);
    from -= count;
  }
}

} // namespace

line_file::line_file(std::filesystem::path path, const char* fault)
    : path_(std::move(path)), fault_(fault),
      descriptor_(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC,
                         0644)) {
  if (!descriptor_)
    refuse_file(path_, "open", errno);
  bytes_ = whole_lines(descriptor_.get(), path_, nullptr);
  if (ftruncate(descriptor_.get(), off_t(bytes_)) != 0)
    refuse_file(path_, "shorten", errno);
}

void line_file::append(std::string_view lines) {
  if (lines.empty())
    return;
  std::string ended;
  if (lines.back() != '\n') {
    ended.reserve(lines.size() + 1);
    ended.append(lines).push_back('\n');
    lines = ended;
  }
  size_t written = 0;
  while (written < lines.size()) {
    int fault = fault_point(fault_);
    ssize_t count = fault ? -1
                          : ::write(descriptor_.get(), lines.data() + written,
                                    lines.size() - written);
    if (fault)
      errno = fault;
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0) {
      // Removes the part of a short write, so that the file still consists of
      // whole lines. Truncating needs no space.
      int error_number = errno;
      if (written > 0 && ftruncate(descriptor_.get(), off_t(bytes_)) != 0)
        refuse_file(path_, "take back a torn line of", errno);
      refuse_file(path_, "append " + std::to_string(lines.size()) + " bytes to",
                  error_number);
    }
    written += size_t(count);
  }
  bytes_ += lines.size();
}

void line_file::shorten(uint64_t bytes) {
  if (bytes > bytes_ || ftruncate(descriptor_.get(), off_t(bytes)) != 0)
    refuse_file(path_, "shorten", bytes > bytes_ ? EINVAL : errno);
  bytes_ = bytes;
}

void line_file::sync() {
  if (fdatasync(descriptor_.get()) != 0)
    refuse_file(path_, "sync", errno);
}

std::string line_file::last_line() const {
  std::string line;
  whole_lines(descriptor_.get(), path_, &line);
  return line;
}

} // namespace ballast::store
