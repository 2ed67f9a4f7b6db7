// Goal: who looks at a process sees what each of its threads does. Method:
// /proc/self/task, from beside the thread.
#include "runtime/base/thread_name.hpp"

#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace ballast {
namespace {

std::string name_of(long thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

TEST(thread_name, is_seen_from_outside_and_is_that_threads_alone) {
  std::string mine = name_of(syscall(SYS_gettid));
  std::promise<long> named;
  std::promise<void> seen;
  std::thread other([&] {
    name_this_thread("bl-a-long-name-");
    named.set_value(syscall(SYS_gettid));
    seen.get_future().wait();
  });
  EXPECT_EQ(name_of(named.get_future().get()), "bl-a-long-name-");
  EXPECT_EQ(name_of(syscall(SYS_gettid)), mine);
  seen.set_value();
  other.join();
}

TEST(thread_name, goes_on_to_the_threads_that_it_makes) {
  std::string inherited;
  std::thread maker([&] {
    name_this_thread("bl-maker");
    std::thread made([&] { inherited = name_of(syscall(SYS_gettid)); });
    made.join();
  });
  maker.join();
  EXPECT_EQ(inherited, "bl-maker");
}

} // namespace
} // namespace ballast
