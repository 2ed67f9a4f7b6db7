#include "gpu/reduction/leaf_team.hpp"

#include "runtime/base/thread_name.hpp"

#include <utility>

namespace ballast::gpu {

leaf_team::leaf_team(size_t threads) {
  for (size_t i = 1; i < threads; ++i)
    helpers_.emplace_back([this, i] { help(i); });
}

leaf_team::~leaf_team() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  for (std::thread& one : helpers_)
    one.join();
}

void leaf_team::run(const std::function<void(size_t)>& work) {
  {
    std::lock_guard lock(mutex_);
    work_ = &work;
    busy_ = helpers_.size();
    error_ = nullptr;
    ++round_;
  }
  changed_.notify_all();
  attempt(work, 0);
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return busy_ == 0; });
  if (error_)
    std::rethrow_exception(std::exchange(error_, nullptr));
}

void leaf_team::attempt(const std::function<void(size_t)>& work, size_t i) {
  try {
    work(i);
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!error_)
      error_ = std::current_exception();
  }
}

void leaf_team::help(size_t i) {
  name_this_thread("bl-leaf");
  uint64_t done = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || round_ != done; });
    if (stop_)
      return;
    done = round_;
    const std::function<void(size_t)>& work = *work_;
    lock.unlock();
    attempt(work, i);
    lock.lock();
    if (--busy_ == 0)
      changed_.notify_all();
  }
}

} // namespace ballast::gpu
