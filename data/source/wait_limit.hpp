/// A limit for waits that nobody else limits: what still waits after so long is
/// cancelled. One owner begins and ends the waits; `cancel` is called from a
/// thread of this object's, once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace ballast::data {

class wait_limit {
public:
  using milliseconds = std::chrono::milliseconds;
  explicit wait_limit(std::function<void()> cancel);
  ~wait_limit();
  wait_limit(const wait_limit&) = delete;
  wait_limit& operator=(const wait_limit&) = delete;

  void begin(milliseconds longest);
  void end();
  /// A wait was too long.
  bool over() const;

private:
  void watch();

  const std::function<void()> cancel_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool waits_ = false;
  std::chrono::steady_clock::time_point until_;
  std::optional<std::chrono::steady_clock::time_point> looks_at_;
  bool over_ = false;
  bool ending_ = false;
  std::thread thread_;
};

} // namespace ballast::data
