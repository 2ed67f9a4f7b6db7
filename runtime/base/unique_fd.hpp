/// Owns a file descriptor and closes it exactly once. A moved-from object owns
/// none.
#pragma once

#include <utility>

namespace ballast {

class unique_fd {
public:
  unique_fd() = default;
  explicit unique_fd(int fd) : fd_(fd) {}
  unique_fd(unique_fd&& other) noexcept : fd_(other.release()) {}
  unique_fd& operator=(unique_fd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~unique_fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  /// Closes the owned descriptor; preserves errno, which may describe an
  /// earlier failure.
  void reset(int fd = -1) noexcept;
  /// The caller takes ownership and must close it.
  int release() noexcept { return std::exchange(fd_, -1); }

private:
  int fd_ = -1;
};

} // namespace ballast
