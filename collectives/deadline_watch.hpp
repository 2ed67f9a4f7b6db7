/// A deadline for calls that accept none: calls `late` from its own thread,
/// once, unless it is destroyed before.
#pragma once

#include "collectives/collective.hpp"
#include "runtime/base/thread_name.hpp"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace ballast::collectives {

class deadline_watch {
public:
  deadline_watch(deadline until, std::function<void()> late)
      : until_(until), late_(std::move(late)), thread_([this] { watch(); }) {}
  deadline_watch(const deadline_watch&) = delete;
  deadline_watch& operator=(const deadline_watch&) = delete;

  ~deadline_watch() {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

  bool fired() const { return fired_; }

private:
  void watch() {
    name_this_thread("bl-deadline");
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, until_, [&] { return done_; })) {
      fired_ = true;
      late_();
    }
  }

  deadline until_;
  std::function<void()> late_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::atomic<bool> fired_{false};
  std::thread thread_;
};

} // namespace ballast::collectives
