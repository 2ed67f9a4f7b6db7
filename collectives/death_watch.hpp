/// How the other processes of this host learn of our death at once: words in
/// shared memory that the kernel marks and wakes when our watch thread ends,
/// which happens before a killed process's memory is freed (robust futexes:
/// 0.1 ms at any size, where a socket of a large process takes tens of ms).
#pragma once

#include "collectives/socket.hpp"

#include <linux/futex.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <mutex>
#include <thread>

namespace ballast {

/// One watcher's mark of one watched process. Lies in memory that both map;
/// must not move while it is kept.
struct death_mark {
  robust_list node; // the kernel's list, in the watched process's addresses
  std::atomic<uint32_t> word; // owner's thread | FUTEX_WAITERS; then died
  uint32_t unused;

  bool died() const {
    return (word.load(std::memory_order_acquire) & FUTEX_OWNER_DIED) != 0;
  }
};

/// The thread whose end marks. One per backend.
class death_watch {
public:
  death_watch();
  ~death_watch();
  death_watch(const death_watch&) = delete;
  death_watch& operator=(const death_watch&) = delete;

  /// False where the kernel offers no robust futexes: sockets must do.
  bool works() const { return thread_id_ != 0; }
  /// From now on `mark` is set should this process die.
  void keep(death_mark& mark);
  void forget(death_mark& mark);

private:
  void watch(std::promise<uint32_t> started);

  std::mutex mutex_;
  robust_list_head head_{};
  uint32_t thread_id_ = 0;
  unique_fd end_;
  std::thread thread_;
};

} // namespace ballast
