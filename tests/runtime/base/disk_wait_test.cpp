// Goal: a full disk is waited for as long as was asked for, and no longer.
// Method: time is handed in.
#include "runtime/base/disk_wait.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace std::chrono_literals;

TEST(disk_wait, ends_with_the_patience_since_the_first_failure) {
  disk_wait wait;
  EXPECT_FALSE(wait.waiting());
  EXPECT_TRUE(wait.failed("no room", 100s, 30s));
  EXPECT_TRUE(wait.failed("no room", 129s, 30s));
  EXPECT_TRUE(wait.waiting());
  EXPECT_FALSE(wait.failed("no room", 130s, 30s));
  EXPECT_FALSE(wait.waiting());
}

TEST(disk_wait, begins_anew_once_a_write_has_fitted) {
  disk_wait wait;
  EXPECT_TRUE(wait.failed("no room", 100s, 30s));
  EXPECT_EQ(wait.over(110s), 10s);
  EXPECT_EQ(wait.over(111s), 0s);
  EXPECT_TRUE(wait.failed("no room", 120s, 30s));
  EXPECT_TRUE(wait.failed("no room", 149s, 30s));
}

TEST(disk_wait, tries_five_times_a_second) {
  disk_wait wait;
  wait.failed("no room", 100s, 30s);
  EXPECT_FALSE(wait.due(100s + 199ms));
  EXPECT_TRUE(wait.due(100s + 200ms));
  wait.failed("no room", 100s + 200ms, 30s);
  EXPECT_FALSE(wait.due(100s + 399ms));
}

TEST(disk_wait, says_what_it_waits_for_and_for_how_long) {
  disk_wait wait;
  EXPECT_EQ(wait.sentence(), "");
  wait.failed("cannot append 9 bytes to /d/a: make space", 1s, 30s);
  EXPECT_EQ(wait.sentence(),
            "disk full: cannot append 9 bytes to /d/a: make space: the run "
            "waits for it up to 30 s (elastic.grace_s)");
}

TEST(disk_wait, does_not_wait_without_patience) {
  disk_wait wait;
  EXPECT_FALSE(wait.failed("no room", 1s, 0s));
  EXPECT_FALSE(wait.waiting());
}

} // namespace
} // namespace ballast
