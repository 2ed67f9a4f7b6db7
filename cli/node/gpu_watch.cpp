#include "cli/node/gpu_watch.hpp"

#include "gpu/nvml.hpp"
#include "monitor/log.hpp"

#include <chrono>
#include <utility>

namespace ballast {
namespace {

constexpr auto between = std::chrono::seconds(1);

/// Without the numbers in brackets, which change all the time.
std::string kind_of(const std::string& illness) {
  return illness.substr(0, illness.find('('));
}

} // namespace

gpu_watch::gpu_watch(std::string name, std::string bus,
                     std::function<void(const gpu_reading&)> seen)
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

void gpu_watch::watch() {
  std::string why;
  const auto reader = nvml_reader::open(bus_, why);
  if (!reader) {
    log().warn("{}: no metrics of the GPU: {}", name_, why);
    return;
  }
  const gpu_reading first = reader->read();
  std::string illness;
  std::unique_lock lock(mutex_);
  while (!stop_) {
    lock.unlock();
    const gpu_reading now = reader->read();
    seen_(now);
    const std::string found = gpu_illness(first, now);
    const bool other = kind_of(found) != kind_of(illness);
    if (other && !found.empty())
      log().warn("{} holds this worker up: {}", name_, found);
    else if (other)
      log().info("{} is well again", name_);
    illness = found;
    lock.lock();
    changed_.wait_for(lock, between, [this] { return stop_; });
  }
}

} // namespace ballast
