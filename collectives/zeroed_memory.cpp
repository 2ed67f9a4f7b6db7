#include "collectives/zeroed_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace ballast::collectives {

namespace {

/// Smaller blocks come from the heap, which has some at hand.
constexpr size_t mapped_min = size_t{1} << 20;

std::shared_ptr<float[]> from_heap(size_t bytes) {
  constexpr size_t alignment = 64;
  bytes = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  void* memory = std::aligned_alloc(alignment, bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  std::memset(memory, 0, bytes);
  return {static_cast<float*>(memory), [](float* p) { std::free(p); }};
}

} // namespace

std::shared_ptr<float[]> zeroed_floats(size_t floats) {
  if (floats > SIZE_MAX / sizeof(float) / 2) {
    throw std::bad_alloc();
  }
  const size_t bytes = floats * sizeof(float);
  if (bytes < mapped_min) {
    return from_heap(bytes);
  }
  // No huge pages are asked for: whole ones are mostly memory that nobody used
  // for long, which the host of a virtual machine has taken back and gives at
  // the first touch only. A start of three workers took twice as long with them
  // there.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::bad_alloc();
  }
  return {static_cast<float*>(memory),
          [bytes](float* p) { ::munmap(p, bytes); }};
}

} // namespace ballast::collectives
