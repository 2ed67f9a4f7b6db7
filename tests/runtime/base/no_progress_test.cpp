// Goal: bulk work ends when nothing arrives any more, and never while something
// does. Method: tables of bytes and times.
#include "runtime/base/no_progress.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace std::chrono_literals;

TEST(no_progress, goes_on_for_hours_while_a_byte_arrives_now_and_then) {
  no_progress watch(0s, 15s, 7'000'000'000);
  for (auto now = 0s; now < 3h; now += 14s) {
    EXPECT_FALSE(watch.stalled(now)) << now.count();
    watch.arrived(1, now);
  }
}

TEST(no_progress, stalls_when_nothing_came_for_its_patience) {
  no_progress watch(100s, 15s);
  EXPECT_EQ(watch.due(), 115s);
  EXPECT_FALSE(watch.stalled(114s));
  EXPECT_TRUE(watch.stalled(115s));
  watch.arrived(5, 114s);
  EXPECT_FALSE(watch.stalled(115s));
  watch.arrived(0, 120s); // is no progress
  EXPECT_TRUE(watch.stalled(129s));
}

TEST(no_progress, does_not_count_the_time_in_which_the_observer_stood_still) {
  no_progress watch(0s, 15s);
  watch.excuse(60s);
  EXPECT_FALSE(watch.stalled(60s));
  EXPECT_TRUE(watch.stalled(75s));
}

TEST(no_progress, waits_longer_for_the_first_byte_where_it_is_told_to) {
  no_progress watch(0s, 15s);
  watch.wait_longer_for_the_first(60s);
  EXPECT_FALSE(watch.stalled(59s));
  EXPECT_TRUE(watch.stalled(60s));
  watch.arrived(1, 50s);
  EXPECT_TRUE(watch.stalled(65s));
}

TEST(no_progress, says_how_much_had_arrived_and_since_when_nothing_did) {
  no_progress watch(10s, 15s, 7'000'000'000);
  EXPECT_EQ(watch.describe(25s),
            "no byte for 15.0 s; nothing of 7.0 GB had arrived");
  watch.arrived(1'230'000, 13s);
  EXPECT_EQ(watch.describe(28s),
            "no byte for 15.0 s; 1.2 MB of 7.0 GB had arrived after 3.0 s");
  EXPECT_EQ(no_progress(0s, 1s).describe(2s),
            "no byte for 2.0 s; nothing had arrived");
}

} // namespace
} // namespace ballast
