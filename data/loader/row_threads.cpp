#include "data/loader/row_threads.hpp"

#include "runtime/base/thread_name.hpp"

#include <utility>

namespace ballast::data {

row_threads::row_threads(size_t count, const char* name) {
  for (size_t thread = 1; thread < count; ++thread)
    threads_.emplace_back([this, thread, name] {
      set_thread_name(name);
      run(thread);
    });
}

row_threads::~row_threads() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  begun_.notify_all();
  for (std::thread& one : threads_)
    one.join();
}

void row_threads::take(size_t thread, const work& what, size_t rows) {
  try {
    for (size_t row = next_++; row < rows; row = next_++)
      what(row, thread);
  } catch (...) {
    next_ = rows; // the others end, too
    const std::lock_guard lock(mutex_);
    if (!error_)
      error_ = std::current_exception();
  }
}

void row_threads::run(size_t thread) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [&] { return ending_ || round_ != seen; });
    if (ending_)
      return;
    seen = round_;
    const work* what = what_;
    const size_t rows = rows_;
    lock.unlock();
    take(thread, *what, rows);
    lock.lock();
    if (--at_work_ == 0)
      ended_.notify_one();
  }
}

void row_threads::each(size_t rows, const work& what) {
  next_ = 0;
  if (!threads_.empty()) {
    {
      const std::lock_guard lock(mutex_);
      what_ = &what;
      rows_ = rows;
      at_work_ = threads_.size();
      ++round_;
    }
    begun_.notify_all();
  }
  take(0, what, rows);
  std::unique_lock lock(mutex_);
  ended_.wait(lock, [this] { return at_work_ == 0; });
  if (error_)
    std::rethrow_exception(std::exchange(error_, nullptr));
}

} // namespace ballast::data
