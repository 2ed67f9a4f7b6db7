#include "collectives/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

namespace ballast::collectives {

namespace {

timespec as_timespec(std::chrono::nanoseconds ns) {
  ns = std::max(ns, std::chrono::nanoseconds{0});
  return {static_cast<time_t>(ns.count() / 1'000'000'000),
          static_cast<long>(ns.count() % 1'000'000'000)};
}

uint32_t* raw(std::atomic<uint32_t>* word) {
  return reinterpret_cast<uint32_t*>(word);
}

/// Kernels before 5.16 can wait for one word only: wait for the first, and poll
/// the others every two milliseconds.
void wait_for_first(std::span<const futex_watch> watches,
                    std::chrono::steady_clock::time_point until) noexcept {
  using namespace std::chrono_literals;
  auto left = std::min<std::chrono::nanoseconds>(
      until - std::chrono::steady_clock::now(), 2ms);
  timespec timeout = as_timespec(left);
  syscall(SYS_futex, raw(watches[0].word), FUTEX_WAIT, watches[0].expected,
          &timeout, nullptr, 0);
}

} // namespace

void futex_wait_any(std::span<const futex_watch> watches,
                    std::chrono::steady_clock::time_point until) noexcept {
  static std::atomic<bool> one_only{false};
  if (one_only) {
    return wait_for_first(watches, until);
  }
  futex_waitv waits[futex_watches_max];
  const size_t count = std::min(watches.size(), futex_watches_max);
  for (size_t i = 0; i < count; ++i) {
    waits[i] = {};
    waits[i].val = watches[i].expected;
    waits[i].uaddr = reinterpret_cast<uint64_t>(raw(watches[i].word));
    waits[i].flags = FUTEX_32; // not private, because other processes wake us
  }
  timespec at = as_timespec(until.time_since_epoch());
  constexpr long sys_futex_waitv = 449;
  if (syscall(sys_futex_waitv, waits, static_cast<unsigned>(count), 0u, &at,
              CLOCK_MONOTONIC) < 0 &&
      (errno == ENOSYS || errno == EPERM)) {
    one_only = true;
  }
}

void futex_wake_all(std::atomic<uint32_t>& word) noexcept {
  syscall(SYS_futex, raw(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

} // namespace ballast::collectives
