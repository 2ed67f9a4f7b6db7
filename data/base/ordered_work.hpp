/// A few threads that work on pieces of something long, and hand the results on
/// in the order in which the pieces were given: what comes out does not depend
/// on the number of threads. One owner, one thread, which gives and takes; it
/// limits how many pieces are under way, and with them the memory. `work` runs
/// on any of the threads, several at once; what it throws is thrown by take().
#pragma once

#include "runtime/base/thread_name.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace ballast::data {

/// Threads that are worth having on this machine for work that takes all of a
/// core.
inline size_t work_threads() {
  constexpr size_t most = 16; // a disk gives no more than these can use
  return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, most);
}

template <class Out>
class ordered_work {
public:
  /// `name`: of the threads; 15 characters at most, for as long as this lives.
  ordered_work(size_t threads, const char* name) {
    try {
      for (size_t i = 0; i < threads; ++i)
        threads_.emplace_back([this, name] {
          set_thread_name(name);
          run();
        });
    } catch (const std::system_error&) {
      if (threads_.empty()) // fewer than asked for do the same work
        throw;
    }
  }
  /// Waits for what has begun and drops the rest.
  ~ordered_work() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& one : threads_)
      one.join();
  }
  ordered_work(const ordered_work&) = delete;
  ordered_work& operator=(const ordered_work&) = delete;

  /// So many pieces keep all threads busy.
  size_t wanted() const { return 2 * threads_.size(); }
  size_t under_way() const { return results_.size(); }
  /// `piece` is called once.
  template <class Piece>
  void give(Piece piece) {
    std::packaged_task<Out()> task(std::move(piece));
    results_.push_back(task.get_future());
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(task));
    }
    changed_.notify_one();
  }
  /// Of the piece that was given first. Precondition: under_way() > 0.
  Out take() {
    std::future<Out> first = std::move(results_.front());
    results_.pop_front();
    return first.get();
  }

private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (ending_)
        return;
      std::packaged_task<Out()> task = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::deque<std::future<Out>> results_; // of the owner's thread alone
  std::mutex mutex_;                     // guards the following
  std::condition_variable changed_;
  std::deque<std::packaged_task<Out()>> waiting_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

} // namespace ballast::data
