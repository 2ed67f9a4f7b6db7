/// LibTorch's memory on the CPU, counted, as long as an object of this lives.
/// One at a time. What it gave out may live longer.
#pragma once

#include <algorithm>
#include <c10/core/CPUAllocator.h>
#include <functional>
#include <map>
#include <mutex>

namespace ballast::gpu {

class counting_allocator final : public c10::Allocator {
public:
  counting_allocator() : inner_(c10::GetCPUAllocator()) {
    counts().free = inner_->raw_deleter();
    c10::SetCPUAllocator(this, 100);
    restart();
  }
  ~counting_allocator() override { c10::SetCPUAllocator(inner_, 100); }

  /// Called with the number of each allocation, from 1 on.
  std::function<void(size_t)> on_allocation;

  /// Most bytes that were held at a time, and how often some were asked for,
  /// since `restart`; what was held then does not count.
  size_t peak_bytes() const { return counts().peak - base_; }
  size_t allocations() const { return allocations_; }
  void restart() {
    base_ = counts().live;
    counts().peak = base_;
    allocations_ = 0;
  }

  c10::DataPtr allocate(size_t bytes) override {
    ++allocations_;
    if (on_allocation)
      on_allocation(allocations_);
    void* at = inner_->raw_allocate(bytes);
    std::lock_guard lock(counts().mutex);
    size_t& known = counts().bytes[at]; // of one that LibTorch freed elsewhere
    counts().live += bytes - known;
    known = bytes;
    counts().peak = std::max(counts().peak, counts().live);
    return {at, at, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

private:
  struct totals {
    std::mutex mutex;
    std::map<void*, size_t> bytes;
    size_t live = 0;
    size_t peak = 0;
    c10::DeleterFnPtr free = nullptr; // of LibTorch's own
  };
  static totals& counts() {
    static auto& all = *new totals; // what LibTorch frees last comes after main
    return all;
  }
  /// Also of what was given out before, or by somebody else: oneDNN frees by
  /// whichever allocator is in force.
  static void release(void* at) {
    {
      std::lock_guard lock(counts().mutex);
      auto found = counts().bytes.find(at);
      if (found != counts().bytes.end()) {
        counts().live -= found->second;
        counts().bytes.erase(found);
      }
    }
    counts().free(at);
  }

  c10::Allocator* inner_;
  size_t base_ = 0;
  size_t allocations_ = 0;
};

} // namespace ballast::gpu
