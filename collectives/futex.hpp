/// Waits on words of shared memory without spinning. Any thread of any process
/// that maps the words.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>

namespace ballast::collectives {

static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// Sleeps while the word holds `expected`.
struct futex_watch {
  std::atomic<uint32_t>* word;
  uint32_t expected;
};
constexpr size_t futex_watches_max = 128;

/// Returns when a watched word differs, is woken, at `until`, or spuriously;
/// the caller checks again. At most futex_watches_max watches.
void futex_wait_any(std::span<const futex_watch> watches,
                    std::chrono::steady_clock::time_point until) noexcept;

void futex_wake_all(std::atomic<uint32_t>& word) noexcept;

} // namespace ballast::collectives
