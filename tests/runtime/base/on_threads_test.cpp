#include "runtime/base/on_threads.hpp"

#include <gtest/gtest.h>

#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace ballast {
namespace {

TEST(on_threads, begins_each_piece_once) {
  for (size_t threads : {0U, 1U, 3U, 50U}) {
    std::vector<int> begun(17);
    for_each_piece(begun.size(), threads, "test",
                   [&](size_t i) { ++begun[i]; });
    EXPECT_EQ(begun, std::vector<int>(17, 1)) << threads << " threads";
  }
}

TEST(on_threads, does_nothing_for_no_pieces) {
  for_each_piece(0, 4, "test", [](size_t) { FAIL(); });
}

TEST(on_threads, throws_what_a_piece_threw_and_begins_no_further_one) {
  for (size_t threads : {1U, 4U}) {
    std::mutex mutex;
    size_t begun = 0;
    const auto run = [&] {
      for_each_piece(1000, threads, "test", [&](size_t) {
        {
          const std::lock_guard lock(mutex);
          ++begun;
        }
        throw std::runtime_error("of a piece");
      });
    };
    EXPECT_THROW(run(), std::runtime_error);
    EXPECT_LE(begun, threads);
    EXPECT_GE(begun, 1U);
  }
}

TEST(on_threads, ends_the_others_before_it_throws) {
  std::atomic<int> ended{0};
  std::atomic<int> number{0};
  const auto run = [&] {
    on_threads(3, "test", [&] {
      if (number++ == 0)
        throw std::runtime_error("of the first");
      std::this_thread::yield();
      ++ended;
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_EQ(ended + 1, number);
}

} // namespace
} // namespace ballast
