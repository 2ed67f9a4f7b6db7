#include "actors/disk_full_retry.hpp"

namespace ballast::actors {

std::chrono::nanoseconds
disk_full_retry::patiently(std::chrono::seconds patience,
                           const std::function<void()>& work) {
  auto now = [] {
    return std::chrono::nanoseconds(
        std::chrono::steady_clock::now().time_since_epoch());
  };
  disk_wait wait;
  uint64_t stops = 0;
  {
    std::lock_guard lock(mutex_);
    stops = stops_;
  }
  while (true)
    try {
      work();
      std::lock_guard lock(mutex_);
      sentence_.clear();
      return wait.over(now());
    } catch (const ballast_error& e) {
      std::unique_lock lock(mutex_);
      bool goes_on = e.what_failed().code == errc::disk_full &&
                     stops == stops_ && wait.failed(e.what(), now(), patience);
      sentence_ = goes_on ? wait.sentence() : "";
      if (!goes_on)
        throw;
      stopped_.wait_for(lock, disk_wait::retry_every,
                        [&] { return stops != stops_; });
    }
}

void disk_full_retry::stop() {
  {
    std::lock_guard lock(mutex_);
    ++stops_;
  }
  stopped_.notify_all();
}

std::string disk_full_retry::sentence() const {
  std::lock_guard lock(mutex_);
  return sentence_;
}

} // namespace ballast::actors
