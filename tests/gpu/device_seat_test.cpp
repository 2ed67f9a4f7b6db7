// Goal: workers of one host spread over its GPUs, and a seat is free again when
// its holder is gone, also by a kill. Method: seats in a folder of the test.
#include "gpu/device_seat.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ballast::gpu {
namespace {

namespace fs = std::filesystem;

class device_seats : public testing::Test {
protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              ("ballast-seats-test-" + std::to_string(getpid()));
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(device_seats, go_round_before_any_gpu_gets_a_second_worker) {
  std::vector<device_seat> taken;
  std::vector<int> order;
  for (int i = 0; i < 7; ++i) {
    taken.push_back(*device_seat::take(folder_, {0, 1, 3}));
    order.push_back(taken.back().gpu());
  }
  EXPECT_EQ(order, (std::vector<int>{0, 1, 3, 0, 1, 3, 0}));
}

TEST_F(device_seats, are_taken_again_when_somebody_leaves) {
  std::vector<device_seat> taken;
  for (int i = 0; i < 4; ++i)
    taken.push_back(*device_seat::take(folder_, {0, 1}));
  taken.erase(taken.begin() + 1); // the first on GPU 1
  EXPECT_EQ(device_seat::take(folder_, {0, 1})->gpu(), 1);
}

TEST_F(device_seats, of_a_killed_process_are_free) {
  int told[2];
  ASSERT_EQ(pipe(told), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto seat = device_seat::take(folder_, {0, 1});
    const char got = seat ? char('0' + seat->gpu()) : '?';
    (void)!write(told[1], &got, 1);
    pause();
    _exit(0);
  }
  char got = 0;
  ASSERT_EQ(read(told[0], &got, 1), 1);
  EXPECT_EQ(got, '0');
  EXPECT_EQ(device_seat::take(folder_, {0, 1})->gpu(), 1);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(device_seat::take(folder_, {0, 1})->gpu(), 0);
  close(told[0]);
  close(told[1]);
}

TEST_F(device_seats, are_not_looked_for_in_the_folder_of_somebody_else) {
  fs::create_directory(folder_);
  const fs::path link = folder_ / "link";
  fs::create_directory_symlink("/", link);
  EXPECT_FALSE(device_seat::take(link, {0}));
  EXPECT_FALSE(device_seat::take(folder_, {}));
}

} // namespace
} // namespace ballast::gpu
