/// Notifies the other processes of this host of our death at once: words in
/// shared memory that the kernel marks and wakes when our watch thread ends,
/// which happens before the memory of a killed process is freed (robust
/// futexes: 0.1 ms at any size, whereas the socket of a large process takes
/// tens of ms).
#pragma once

#include "collectives/socket.hpp"

#include <linux/futex.h>

#include <atomic>
#include <cstdint>
#include <future>
#include <mutex>
#include <thread>

namespace ballast::collectives {

/// One watcher's mark of one watched process, in memory that both map; must not
/// move while it is registered.
struct death_mark {
  robust_list node; // the kernel's list, in addresses of the watched process
  std::atomic<uint32_t> word; // owner's thread | FUTEX_WAITERS; then died
  uint32_t unused;

  bool died() const {
    return (word.load(std::memory_order_acquire) & FUTEX_OWNER_DIED) != 0;
  }
};

/// The thread whose end sets the marks. One per backend.
class death_watch {
public:
  death_watch();
  ~death_watch();
  death_watch(const death_watch&) = delete;
  death_watch& operator=(const death_watch&) = delete;

  /// False if the kernel has no robust futexes: sockets must suffice.
  bool works() const { return thread_id_ != 0; }
  /// From now on `mark` is set if this process dies.
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

} // namespace ballast::collectives
