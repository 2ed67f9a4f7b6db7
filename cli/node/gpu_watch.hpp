/// Reads a worker's GPU once a second, on a thread of its own. The readings go
/// to the metrics; trouble that makes the worker slow or endangers it is logged
/// with its cause, when it begins and when it ends, and heartbeats carry it to
/// the coordinator.
#pragma once

#include "gpu/gpu_health.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace ballast::cli {

class gpu_watch {
public:
  /// `seen` is called on the thread of the watch.
  gpu_watch(std::string name, std::string bus,
            std::function<void(const gpu::gpu_reading&)> seen);
  /// As of the last reading. Any thread.
  device_trouble trouble() const;

  ~gpu_watch();

private:
  void watch();

  std::string name_;
  std::string bus_;
  std::function<void(const gpu::gpu_reading&)> seen_;
  mutable std::mutex mutex_; // guards trouble_ and stop_
  device_trouble trouble_;
  std::condition_variable changed_;
  bool stop_ = false;
  std::thread thread_;
};

} // namespace ballast::cli
