/// Waits for space on a full disk on threads beside the coordinator's: those
/// that publish the model, the last checkpoint and the report. Shared by them
/// and the coordinator, which shows what is waited for.
#pragma once

#include "runtime/base/disk_wait.hpp"
#include "runtime/base/errors.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

namespace ballast::actors {

class disk_full_retry {
public:
  /// Does the work, again and again while it throws disk_full, at most
  /// `patience` long; then it throws that. Returns how long it waited.
  std::chrono::nanoseconds patiently(std::chrono::seconds patience,
                                     const std::function<void()>& work);
  /// Whoever waits now gives up.
  void stop();
  /// What is waited for; empty: nothing. Any thread.
  std::string sentence() const;

private:
  mutable std::mutex mutex_;
  std::condition_variable stopped_;
  uint64_t stops_ = 0;
  std::string sentence_;
};

} // namespace ballast::actors
