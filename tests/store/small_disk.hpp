/// A disk that is full after `bytes` of a file: the process's limit on the size
/// of a file, which fails a write(2) in the same way, after a part of it.
#pragma once

#include <csignal>
#include <cstdint>
#include <sys/resource.h>

namespace ballast::store {

class small_disk {
public:
  explicit small_disk(uint64_t bytes) {
    before_handler_ = std::signal(SIGXFSZ, SIG_IGN); // the limit's own signal
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~small_disk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, before_handler_);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;

private:
  rlimit before_{};
  void (*before_handler_)(int) = SIG_DFL;
};

} // namespace ballast::store
