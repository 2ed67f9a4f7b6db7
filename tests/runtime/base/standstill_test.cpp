// Goal: a process that stands still is told of once, a short stop never.
// Method: times by hand.
#include "runtime/base/standstill.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace std::chrono_literals;

TEST(standstill, is_told_once_and_so_is_its_end) {
  standstill s;
  s.begins(10s);
  EXPECT_TRUE(s.lasts());
  EXPECT_EQ(s.sentence("it", 11s), "");
  EXPECT_EQ(s.sentence("it", 12s),
            "it is stopped (state T): waits until it continues");
  EXPECT_EQ(s.sentence("it", 13s), "");
  EXPECT_EQ(s.ends("it", 25s), "it goes on after 15 s");
  EXPECT_FALSE(s.lasts());
  EXPECT_EQ(s.ends("it", 26s), "");
}

TEST(standstill, is_not_told_where_it_was_short_or_ended_in_death) {
  standstill s;
  s.begins(10s);
  EXPECT_EQ(s.ends("it", 11s), "");
  s.begins(12s);
  s.forget();
  EXPECT_EQ(s.sentence("it", 20s), "");
}

TEST(standstill, is_told_again_when_it_comes_again) {
  standstill s;
  s.begins(10s);
  EXPECT_NE(s.sentence("it", 12s), "");
  s.ends("it", 13s);
  s.begins(20s);
  EXPECT_NE(s.sentence("it", 22s), "");
}

} // namespace
} // namespace ballast
