/// Memory whose addresses lie in pages without any rights: whoever follows one
/// dies at once. Its owner reaches the values at another address of the same
/// pages.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <sys/mman.h>
#include <unistd.h>

namespace ballast::gpu {

/// Blocks of such memory. Threads: any.
class guarded_memory : public std::enable_shared_from_this<guarded_memory> {
public:
  /// Zeroed; may outlive this object.
  std::shared_ptr<float[]> take(size_t bytes) {
    pages one;
    one.bytes = bytes;
    one.whole = (bytes + 4095) / 4096 * 4096;
    const int file = memfd_create("guarded", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, off_t(one.whole)) != 0)
      throw std::bad_alloc();
    auto map = [&](int rights) {
      return static_cast<char*>(
          mmap(nullptr, one.whole, rights, MAP_SHARED, file, 0));
    };
    one.values = map(PROT_READ | PROT_WRITE);
    one.guard = map(PROT_NONE);
    close(file);
    std::lock_guard lock(mutex_);
    by_guard_[one.guard] = one;
    return {reinterpret_cast<float*>(one.guard),
            [book = shared_from_this(), one](float*) { book->drop(one); }};
  }

  /// Bytes from the begin of the block that holds `at`.
  std::optional<size_t> place_of(const void* at) {
    std::lock_guard lock(mutex_);
    const pages* found = find(at);
    if (!found)
      return std::nullopt;
    return size_t(static_cast<const char*>(at) - found->guard);
  }
  void* reach(const void* at) {
    std::lock_guard lock(mutex_);
    const pages* found = find(at);
    if (!found)
      throw std::logic_error("no address of this device");
    return found->values + (static_cast<const char*>(at) - found->guard);
  }

private:
  struct pages {
    char* guard = nullptr; // what everybody sees
    char* values = nullptr;
    size_t bytes = 0;
    size_t whole = 0; // pages
  };

  const pages* find(const void* at) const {
    const char* wanted = static_cast<const char*>(at);
    auto after = by_guard_.upper_bound(wanted);
    if (after == by_guard_.begin())
      return nullptr;
    const pages& one = std::prev(after)->second;
    return wanted < one.guard + one.bytes ? &one : nullptr;
  }
  void drop(const pages& one) {
    {
      std::lock_guard lock(mutex_);
      by_guard_.erase(one.guard);
    }
    munmap(one.values, one.whole);
    munmap(one.guard, one.whole);
  }

  std::mutex mutex_;
  std::map<const char*, pages> by_guard_;
};

} // namespace ballast::gpu
