/// A few threads that do the same to each of many rows, in any order; the
/// caller is one of them. One owner, one thread, which calls each(); what the
/// work throws is thrown there, once all have ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ballast::data {

class row_threads {
public:
  /// Of `row`, on thread 0 to count() - 1.
  using work = std::function<void(size_t row, size_t thread)>;

  /// `count`: with the caller; 0 is 1. `name`: of the others; 15 characters at
  /// most, for as long as this lives.
  row_threads(size_t count, const char* name);
  ~row_threads();
  row_threads(const row_threads&) = delete;
  row_threads& operator=(const row_threads&) = delete;

  size_t count() const { return threads_.size() + 1; }
  void each(size_t rows, const work& what);

private:
  void run(size_t thread);
  /// Takes rows until there are none.
  void take(size_t thread, const work& what, size_t rows);

  std::atomic<size_t> next_{0};
  std::mutex mutex_; // guards the following
  std::condition_variable begun_;
  std::condition_variable ended_;
  const work* what_ = nullptr;
  size_t rows_ = 0;
  uint64_t round_ = 0;
  size_t at_work_ = 0;
  bool ending_ = false;
  std::exception_ptr error_; // the first
  std::vector<std::thread> threads_;
};

} // namespace ballast::data
