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

/// What is seen of the work.
struct work_seen {
  std::atomic<uint64_t> checks{0}; // calls of check_stop
  std::atomic<uint64_t> total{0};  // of a long part of it; 0: none begun
  std::atomic<uint64_t> done{0};   // of `total`
};

class work_watch {
public:
  work_watch() = default;
  /// `seen` null: nobody looks.
  work_watch(std::stop_token stop, // NOLINT: a token alone is a watch
             std::shared_ptr<work_seen> seen = nullptr)
      : stop_(std::move(stop)), seen_(std::move(seen)) {}

  /// Of a part of the same work that may end sooner.
  work_watch until(std::stop_token sooner) const {
    work_watch out = *this;
    out.sooner_ = std::move(sooner);
    return out;
  }
  bool stop_requested() const {
    return stop_.stop_requested() || sooner_.stop_requested();
  }
  void note_check() const {
    if (seen_)
      seen_->checks.fetch_add(1, std::memory_order_relaxed);
  }
  /// A part of the work begins, of so much.
  void expect(uint64_t total) const {
    if (!seen_)
      return;
    seen_->done = 0;
    seen_->total = total;
  }
  void did(uint64_t more) const {
    if (seen_)
      seen_->done.fetch_add(more, std::memory_order_relaxed);
  }

private:
  std::stop_token stop_;
  std::stop_token sooner_;
  std::shared_ptr<work_seen> seen_;
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
