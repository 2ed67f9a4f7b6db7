/// Reading a source takes as long as the source is large. Whoever waits for
/// such work gives it one of these: it ends the work sooner, and it shows that
/// the work is getting on. Copies watch the same work; any thread.
#pragma once

#include "runtime/base/errors.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>

namespace ballast::store {

class work_watch {
public:
  work_watch() = default;
  /// `checks` counts the calls of check_stop; null: nobody looks.
  work_watch(std::stop_token stop, // NOLINT: a token alone is a watch
             std::shared_ptr<std::atomic<uint64_t>> checks = nullptr)
      : stop_(std::move(stop)), checks_(std::move(checks)) {}

  bool stop_requested() const { return stop_.stop_requested(); }
  void note_check() const {
    if (checks_)
      checks_->fetch_add(1, std::memory_order_relaxed);
  }

private:
  std::stop_token stop_;
  std::shared_ptr<std::atomic<uint64_t>> checks_;
};

/// Between two blocks of the work. Throws ballast_error{stopped} once it is
/// wanted no more.
inline void check_stop(const work_watch& watch) {
  watch.note_check();
  if (watch.stop_requested())
    throw ballast_error(errc::stopped,
                        "stopped while the data were being prepared");
}

} // namespace ballast::store
