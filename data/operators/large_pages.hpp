/// Memory for tables and columns that are read all over the place: on large
/// pages where the system has them, because with small ones nearly every access
/// would have to look up its page. Includes Arrow; for source files of data/
/// only.
///
/// No state; any thread. Errors: std::bad_alloc, and Arrow's.
#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace ballast::data {

/// Of memory that nobody has touched yet. A wish: nothing fails.
void prefer_large_pages(void* data, size_t bytes);

/// Arrow's own pool, with that wish for whatever is large. Lives as long as the
/// process.
arrow::MemoryPool* large_page_pool();

/// For std::vector; what is not given a value has none.
template <class Value>
struct large_page_allocator {
  using value_type = Value;
  large_page_allocator() = default;
  template <class Other>
  large_page_allocator(const large_page_allocator<Other>& /*other*/) {}

  Value* allocate(size_t count) {
    auto* out = static_cast<Value*>(::operator new(count * sizeof(Value)));
    prefer_large_pages(out, count * sizeof(Value));
    return out;
  }
  void deallocate(Value* values, size_t /*count*/) {
    ::operator delete(values);
  }
  template <class Other>
  void construct(Other* at) {
    ::new (static_cast<void*>(at)) Other;
  }
  template <class Other, class... Arguments>
  void construct(Other* at, Arguments&&... arguments) {
    ::new (static_cast<void*>(at)) Other(std::forward<Arguments>(arguments)...);
  }
  bool operator==(const large_page_allocator& /*other*/) const = default;
};

template <class Value>
using large_vector = std::vector<Value, large_page_allocator<Value>>;

} // namespace ballast::data
