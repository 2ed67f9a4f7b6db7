/// Cancels a stalled transfer: a watch thread beside the one that blocks in a
/// read, because neither gRPC nor Flight has a deadline between messages.
#pragma once

#include "runtime/base/no_progress.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace ballast::data {

/// How a transfer is watched.
struct bulk_watch {
  template <class Rep, class Period>
  bulk_watch(std::chrono::duration<Rep, Period> longest) // NOLINT: reads well
      : patience(
            std::chrono::duration_cast<std::chrono::milliseconds>(longest)) {}
  bulk_watch() : bulk_watch(bulk_patience) {}

  /// Longest time without a byte.
  std::chrono::milliseconds patience;
  /// Polled often; true: the transfer is no longer wanted.
  std::function<bool()> given_up = {};
  /// Called with the bytes of each message, on the caller's thread.
  std::function<void(uint64_t bytes)> progress = {};
};

class stall_watch {
public:
  /// `cancel` is called at most once, from another thread, and must wake the
  /// blocked reader. `how` must outlive this. The first byte may take
  /// `preparation` times the patience.
  stall_watch(const bulk_watch& how, uint64_t expected, int preparation,
              std::function<void()> cancel);
  ~stall_watch();
  stall_watch(const stall_watch&) = delete;
  stall_watch& operator=(const stall_watch&) = delete;

  void arrived(uint64_t bytes);
  /// Why the transfer was cancelled; empty: it was not.
  std::string why() const;

private:
  void watch();

  const bulk_watch& how_;
  const std::function<void()> cancel_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  no_progress state_;
  std::string why_;
  bool over_ = false;
  std::thread thread_;
};

} // namespace ballast::data
