// Goal: a descriptor is closed once, by its last owner. Method: real ones.
#include "runtime/base/unique_fd.hpp"

#include <cerrno>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <utility>

namespace ballast {
namespace {

int open_one() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool is_open(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

TEST(unique_fd, owns_nothing_at_first) {
  unique_fd none;
  EXPECT_FALSE(none);
  EXPECT_EQ(none.get(), -1);
}

TEST(unique_fd, closes_what_it_owns_at_its_end) {
  int fd = open_one();
  {
    unique_fd owner(fd);
    EXPECT_TRUE(owner);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
}

TEST(unique_fd, is_moved_with_what_it_owns_and_closes_what_it_had) {
  int first = open_one();
  int second = open_one();
  unique_fd a(first);
  unique_fd b(second);
  a = std::move(b);
  EXPECT_FALSE(is_open(first));
  EXPECT_EQ(a.get(), second);
  EXPECT_FALSE(b); // NOLINT(bugprone-use-after-move): that is what is tested
  unique_fd c(std::move(a));
  EXPECT_TRUE(is_open(second));
  c.reset();
  EXPECT_FALSE(is_open(second));
}

TEST(unique_fd, that_is_released_is_for_another_to_close) {
  unique_fd owner(open_one());
  int fd = owner.release();
  EXPECT_FALSE(owner);
  ASSERT_TRUE(is_open(fd));
  unique_fd another(fd);
}

// A destructor stands between a call that failed and whoever asks why.
TEST(unique_fd, keeps_the_error_of_what_failed_before) {
  unique_fd owner(open_one());
  errno = ENOSPC;
  owner.reset();
  EXPECT_EQ(errno, ENOSPC);
}

} // namespace
} // namespace ballast
