#include "runtime/base/on_threads.hpp"

#include "runtime/base/thread_name.hpp"

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace ballast {

void on_threads(size_t threads, const char* name,
                const std::function<void()>& work) {
  std::exception_ptr first;
  std::mutex mutex; // guards `first`
  const auto run = [&] {
    try {
      work();
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!first)
        first = std::current_exception();
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < threads; ++i)
    try {
      others.emplace_back([&] {
        set_thread_name(name);
        run();
      });
    } catch (const std::system_error&) {
      break;
    }
  run();
  for (std::thread& one : others)
    one.join();
  if (first)
    std::rethrow_exception(first);
}

} // namespace ballast
