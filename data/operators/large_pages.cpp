#include "data/operators/large_pages.hpp"

#include <arrow/memory_pool.h>

#include <cstdint>
#include <string>
#include <sys/mman.h>

namespace ballast::data {

namespace {

constexpr size_t large_page = 2 << 20;
// Of less, a page would be mostly empty.
constexpr size_t worth_it = 2 * large_page;

class wishing_pool : public arrow::MemoryPool {
public:
  using arrow::MemoryPool::Allocate;
  using arrow::MemoryPool::Free;
  using arrow::MemoryPool::Reallocate;

  arrow::Status Allocate(int64_t size, int64_t alignment,
                         uint8_t** out) override {
    arrow::Status status = from_->Allocate(size, alignment, out);
    if (status.ok())
      prefer_large_pages(*out, size_t(size));
    return status;
  }
  arrow::Status Reallocate(int64_t old_size, int64_t new_size,
                           int64_t alignment, uint8_t** data) override {
    return from_->Reallocate(old_size, new_size, alignment, data);
  }
  void Free(uint8_t* data, int64_t size, int64_t alignment) override {
    from_->Free(data, size, alignment);
  }
  int64_t bytes_allocated() const override { return from_->bytes_allocated(); }
  int64_t max_memory() const override { return from_->max_memory(); }
  int64_t total_bytes_allocated() const override {
    return from_->total_bytes_allocated();
  }
  int64_t num_allocations() const override { return from_->num_allocations(); }
  std::string backend_name() const override { return from_->backend_name(); }

private:
  arrow::MemoryPool* const from_ = arrow::default_memory_pool();
};

} // namespace

void prefer_large_pages(void* data, size_t bytes) {
  if (bytes < worth_it)
    return;
  const auto begin = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = (begin + large_page - 1) / large_page * large_page;
  const uintptr_t end = (begin + bytes) / large_page * large_page;
  (void)::madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
}

arrow::MemoryPool* large_page_pool() {
  static auto* pool = new wishing_pool; // batches outlive main()
  return pool;
}

} // namespace ballast::data
