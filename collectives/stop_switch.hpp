/// Why a collective ended, set exactly once: by abort() from any thread, or by
/// the operation that failed. A waiting operation polls `bell`.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/socket.hpp"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace ballast::collectives {

class stop_switch {
public:
  stop_switch() : bell_(make_eventfd()) {}

  /// True for the first caller, whose error is kept.
  bool stop(collective_errc code, const std::string& what, int peer = -1,
            const std::vector<dead_link>& links = {}) noexcept;
  bool stopped() const { return stopped_.load(std::memory_order_acquire); }
  /// Throws the kept error, if there is one.
  void check() const {
    if (stopped()) {
      raise();
    }
  }
  [[noreturn]] void raise() const;
  /// Calls `with` (code, what, peer) of the kept error.
  template <class Listener>
  void tell(Listener&& with) const {
    std::lock_guard lock(mutex_);
    with(code_, what_, peer_);
  }
  /// Readable once stopped.
  int bell() const { return bell_.get(); }

private:
  unique_fd bell_;
  std::atomic<bool> stopped_{false};
  mutable std::mutex mutex_;
  collective_errc code_ = collective_errc::aborted;
  std::string what_;
  int peer_ = -1;
  std::vector<dead_link> links_;
};

} // namespace ballast::collectives
