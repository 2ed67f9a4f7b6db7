#include "data/source/ordered_parts.hpp"

#include "runtime/base/thread_name.hpp"

#include <arrow/record_batch.h>
#include <arrow/util/byte_size.h>

#include <chrono>
#include <system_error>
#include <utility>

namespace ballast::data {

namespace {
constexpr std::chrono::milliseconds look_again{50};
} // namespace

ordered_parts::ordered_parts(size_t parts, std::vector<reader> readers,
                             int64_t bytes_max, store::work_watch stop)
    : parts_(parts), readers_(std::move(readers)), bytes_max_(bytes_max),
      stop_(std::move(stop)) {
  threads_.reserve(readers_.size());
  for (const reader& one : readers_) {
    {
      const std::lock_guard lock(mutex_);
      ++running_;
    }
    try {
      threads_.emplace_back([this, &one] {
        name_this_thread("bl-sql");
        run(one);
      });
    } catch (const std::system_error&) {
      const std::lock_guard lock(mutex_);
      --running_;
      if (threads_.empty()) // fewer than asked for read the same parts
        throw;
      break;
    }
  }
}

ordered_parts::~ordered_parts() {
  end();
}

void ordered_parts::end() {
  {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    // A reader may have looked before and ask its server only now: once more.
    while (running_ > 0) {
      lock.unlock();
      for (const reader& one : readers_)
        one.cancel();
      lock.lock();
      changed_.wait_for(lock, look_again, [&] { return running_ == 0; });
    }
  }
  for (std::thread& one : threads_)
    one.join();
  threads_.clear();
}

void ordered_parts::run(const reader& one) {
  std::unique_lock lock(mutex_);
  while (!ending_ && !failure_ && begun_ < parts_) {
    const size_t part = begun_++;
    waiting_[part];
    lock.unlock();
    std::exception_ptr failure;
    try {
      one.read(part, [&](batch rows) { return give(part, std::move(rows)); });
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    waiting_[part].done = true;
    if (failure && !failure_ && !ending_)
      failure_ = failure;
    changed_.notify_all();
  }
  --running_;
  changed_.notify_all();
}

bool ordered_parts::give(size_t part, batch rows) {
  const int64_t bytes = arrow::util::TotalBufferSize(*rows);
  std::unique_lock lock(mutex_);
  waiting& mine = waiting_[part];
  // The part that is handed on may always go on: all others wait for it.
  changed_.wait(lock, [&] {
    return ending_ || failure_ || bytes_ < bytes_max_ ||
           (part == handed_ && mine.batches.empty());
  });
  if (ending_ || failure_)
    return false;
  bytes_ += bytes;
  mine.batches.emplace_back(std::move(rows), bytes);
  changed_.notify_all();
  return true;
}

ordered_parts::batch ordered_parts::next() {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (failure_) {
      const std::exception_ptr failure = failure_;
      lock.unlock();
      end();
      std::rethrow_exception(failure);
    }
    if (stop_.stop_requested()) {
      lock.unlock();
      end();
      store::check_stop(stop_);
    }
    if (handed_ == parts_)
      return nullptr;
    const auto found = waiting_.find(handed_);
    if (found != waiting_.end() && !found->second.batches.empty()) {
      auto [rows, bytes] = std::move(found->second.batches.front());
      found->second.batches.pop_front();
      bytes_ -= bytes;
      changed_.notify_all();
      stop_.note_check();
      return rows;
    }
    if (found != waiting_.end() && found->second.done) {
      waiting_.erase(found);
      ++handed_;
      changed_.notify_all();
      continue;
    }
    changed_.wait_for(lock, look_again);
    stop_.note_check();
  }
}

} // namespace ballast::data
