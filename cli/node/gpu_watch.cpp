#include "cli/node/gpu_watch.hpp"

#include "gpu/nvml.hpp"
#include "monitor/logs/log.hpp"

#include <chrono>
#include <utility>

namespace ballast::cli {
namespace {

constexpr auto between = std::chrono::seconds(1);

/// Compares everything but the numbers, which change all the time.
bool differ(const device_trouble& a, const device_trouble& b) {
  return a.causes != b.causes || a.xid != b.xid ||
         a.memory_errors != b.memory_errors;
}

} // namespace

gpu_watch::gpu_watch(std::string name, std::string bus,
                     std::function<void(const gpu::gpu_reading&)> seen)
    : name_(std::move(name)), bus_(std::move(bus)), seen_(std::move(seen)),
      thread_([this] { watch(); }) {}

gpu_watch::~gpu_watch() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

device_trouble gpu_watch::trouble() const {
  std::lock_guard lock(mutex_);
  return trouble_;
}

void gpu_watch::watch() {
  std::string why;
  const auto reader = gpu::nvml_reader::open(bus_, why);
  if (!reader) {
    monitor::log().warn("{}: no metrics of the GPU: {}", name_, why);
    return;
  }
  const gpu::gpu_reading first = reader->read();
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const gpu::gpu_reading now = reader->read();
    seen_(now);
    const device_trouble found = gpu_trouble(first, now);
    if (differ(found, trouble_) && found.causes != 0)
      monitor::log().warn("{} holds this worker up: {}", name_,
                          describe(found));
    else if (differ(found, trouble_))
      monitor::log().info("{} is well again", name_);
    lock.lock();
    trouble_ = found;
    changed_.wait_for(lock, between, [this] { return stop_; });
  }
}

} // namespace ballast::cli
