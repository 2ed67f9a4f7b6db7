#include "cli/node/thread_room.hpp"

#include <latch>
#include <memory>
#include <thread>
#include <vector>

namespace ballast::cli {

void need_threads(uint32_t count) {
  std::latch over(1);
  std::vector<std::jthread> threads;
  threads.reserve(count);
  // Before the threads are joined, on every exit.
  auto release = [&over](void*) { over.count_down(); };
  std::unique_ptr<void, decltype(release)> released(&over, release);
  for (uint32_t i = 0; i < count; ++i)
    threads.emplace_back([&over] { over.wait(); });
}

} // namespace ballast::cli
