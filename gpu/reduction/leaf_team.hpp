/// The threads of a worker that compute leaves side by side: the caller's and
/// some that wait in between.
///
/// Thread: run() by one thread at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ballast::gpu {

class leaf_team {
public:
  /// At least one: the caller.
  explicit leaf_team(size_t threads);
  ~leaf_team();
  leaf_team(const leaf_team&) = delete;
  leaf_team& operator=(const leaf_team&) = delete;

  size_t threads() const { return helpers_.size() + 1; }
  /// Calls work(i) for each i below threads(), each on a thread of its own, the
  /// caller's is i = 0. Returns when all have; rethrows what the first threw.
  void run(const std::function<void(size_t)>& work);

private:
  void help(size_t i);
  void attempt(const std::function<void(size_t)>& work, size_t i);

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void(size_t)>* work_ = nullptr;
  uint64_t round_ = 0;
  size_t busy_ = 0;
  bool stop_ = false;
  std::exception_ptr error_;
  std::vector<std::thread> helpers_;
};

} // namespace ballast::gpu
