/// Equal pieces of work on a few threads of their own, of which the caller's is
/// one. Which thread takes which piece is open, so a piece writes only what no
/// other one reads; then the results do not depend on the number of threads.
/// What a piece throws is thrown again, after the others have ended.
#pragma once

#include "runtime/base/thread_name.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ballast::data {

struct work_terms {
  size_t threads = 1;
  store::work_watch stop = {};
};

/// `piece(i)` for i in [0, count). Throws ballast_error{stopped} between two.
template <class Piece>
void parallel_work(size_t count, const work_terms& how, const Piece& piece) {
  std::atomic<size_t> next{0};
  std::exception_ptr failed;
  std::mutex mutex; // guards `failed`
  const auto run = [&] {
    try {
      for (size_t i; (i = next.fetch_add(1)) < count;) {
        store::check_stop(how.stop);
        piece(i);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      failed = std::current_exception();
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(how.threads, count); ++i) {
    try {
      others.emplace_back([&run] {
        name_this_thread("neighbours");
        run();
      });
    } catch (const std::system_error&) {
      break; // fewer do the same work
    }
  }
  run();
  for (std::thread& one : others)
    one.join();
  if (failed)
    std::rethrow_exception(failed);
}

} // namespace ballast::data
