/// Owns a file descriptor: closes it once, at the end. What was moved from owns
/// none. Nothing else; what stands behind the descriptor is its user's.
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
  /// Closes what it owned; keeps errno, which may say what went wrong before.
  void reset(int fd = -1) noexcept;
  /// Whoever gets it closes it.
  int release() noexcept { return std::exchange(fd_, -1); }

private:
  int fd_ = -1;
};

} // namespace ballast
