#include "data/source/wait_limit.hpp"

#include "runtime/base/thread_name.hpp"

#include <utility>

namespace ballast::data {

wait_limit::wait_limit(std::function<void()> cancel)
    : cancel_(std::move(cancel)), thread_([this] { watch(); }) {}

wait_limit::~wait_limit() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void wait_limit::begin(milliseconds longest) {
  const std::lock_guard lock(mutex_);
  waits_ = true;
  until_ = std::chrono::steady_clock::now() + longest;
  // Else the thread looks soon enough: not one wake-up for each message.
  if (!looks_at_ || *looks_at_ > until_)
    changed_.notify_all();
}

void wait_limit::end() {
  const std::lock_guard lock(mutex_);
  waits_ = false;
}

bool wait_limit::over() const {
  const std::lock_guard lock(mutex_);
  return over_;
}

void wait_limit::watch() {
  name_this_thread("bl-wait-limit");
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (waits_ && std::chrono::steady_clock::now() >= until_) {
      over_ = true;
      lock.unlock();
      cancel_();
      return;
    }
    looks_at_ = waits_ ? std::optional(until_) : std::nullopt;
    if (const auto until = looks_at_)
      changed_.wait_until(lock, *until);
    else
      changed_.wait(lock);
  }
}

} // namespace ballast::data
