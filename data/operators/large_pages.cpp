#include "data/operators/large_pages.hpp"

#include "data/base/passing_pool.hpp"

#include <arrow/memory_pool.h>

#include <cstdint>
#include <string>
#include <sys/mman.h>

namespace ballast::data {

namespace {

constexpr size_t large_page = 2 << 20;
// Of less, a page would be mostly empty.
constexpr size_t worth_it = 2 * large_page;

class wishing_pool final : public passing_pool {
public:
  using passing_pool::Allocate;

  arrow::Status Allocate(int64_t size, int64_t alignment,
                         uint8_t** out) override {
    arrow::Status status = passing_pool::Allocate(size, alignment, out);
    if (status.ok())
      prefer_large_pages(*out, size_t(size));
    return status;
  }
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
