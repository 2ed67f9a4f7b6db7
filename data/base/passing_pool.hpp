/// Arrow's own memory pool behind another: for pools that look at what is asked
/// of it. Includes Arrow; for source files of data/ only. Any thread.
#pragma once

#include <arrow/memory_pool.h>

#include <cstdint>
#include <string>

namespace ballast::data {

class passing_pool : public arrow::MemoryPool {
public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment,
                         uint8_t** out) override {
    return below_->Allocate(size, alignment, out);
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size,
                           int64_t alignment, uint8_t** at) override {
    return below_->Reallocate(old_size, new_size, alignment, at);
  }
  void Free(uint8_t* buffer, int64_t size, int64_t alignment) override {
    below_->Free(buffer, size, alignment);
  }
  int64_t bytes_allocated() const override { return below_->bytes_allocated(); }
  int64_t max_memory() const override { return below_->max_memory(); }
  int64_t total_bytes_allocated() const override {
    return below_->total_bytes_allocated();
  }
  int64_t num_allocations() const override { return below_->num_allocations(); }
  std::string backend_name() const override { return below_->backend_name(); }

private:
  arrow::MemoryPool* const below_ = arrow::default_memory_pool();
};

} // namespace ballast::data
