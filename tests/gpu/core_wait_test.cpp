// Goal: a worker knows what part of its time it waited for a core. Method: two
// threads that spin on one core, and one that sleeps.
#include "gpu/core_wait.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <gtest/gtest.h>
#include <sched.h>
#include <thread>

namespace ballast::gpu {
namespace {

using std::chrono::steady_clock;

void pin_to_first_core() {
  cpu_set_t all;
  sched_getaffinity(0, sizeof(all), &all);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &all)) {
      CPU_SET(core, &one);
      break;
    }
  sched_setaffinity(0, sizeof(one), &one);
}

TEST(core_wait, grows_while_another_thread_has_the_core) {
  if (!std::filesystem::exists("/proc/thread-self/schedstat"))
    GTEST_SKIP() << "this kernel does not count it";
  std::atomic<bool> done = false;
  std::thread other([&] {
    pin_to_first_core();
    while (!done)
      ;
  });
  uint64_t waited_ns = 0;
  std::thread self([&] {
    pin_to_first_core();
    const uint64_t before_ns = core_wait_ns();
    const auto end = steady_clock::now() + std::chrono::seconds(20);
    while (waited_ns < 20'000'000 && steady_clock::now() < end)
      waited_ns = core_wait_ns() - before_ns;
    done = true;
  });
  self.join();
  other.join();
  EXPECT_GE(waited_ns, 20'000'000u);
}

} // namespace
} // namespace ballast::gpu
