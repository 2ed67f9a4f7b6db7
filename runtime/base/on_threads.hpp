/// The same work on some threads of their own, of which the caller's is one.
/// Where the system gives fewer threads, those do all of it. What one of them
/// throws is thrown again, the first of it, after all have ended.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>

namespace ballast {

/// `work()` on each of `threads` threads; `name`: theirs, but not the caller's.
/// Which of them does what is between them.
void on_threads(size_t threads, const char* name,
                const std::function<void()>& work);

/// `piece(i)` for i in [0, count). Which thread takes which piece is open, so a
/// piece writes only what no other one reads; none begins after one has thrown.
template <class Piece>
void for_each_piece(size_t count, size_t threads, const char* name,
                    const Piece& piece) {
  std::atomic<size_t> next{0};
  on_threads(std::min(threads, count), name, [&] {
    for (size_t i; (i = next.fetch_add(1)) < count;)
      try {
        piece(i);
      } catch (...) {
        next = count;
        throw;
      }
  });
}

} // namespace ballast
