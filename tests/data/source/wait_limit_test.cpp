/// Whoever waits too long is cancelled, and nobody else.
#include "data/source/wait_limit.hpp"

#include <future>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

using namespace std::chrono_literals;

TEST(wait_limit, cancels_a_wait_that_lasts_too_long_once) {
  std::promise<void> cancelled; // a second set_value() would throw
  wait_limit limit([&] { cancelled.set_value(); });
  limit.begin(1h);
  limit.end();
  limit.begin(1ms); // sooner than the thread has looked for
  cancelled.get_future().wait();
  EXPECT_TRUE(limit.over());
  limit.begin(1ms);
}

TEST(wait_limit, leaves_alone_what_ends_in_time) {
  int cancelled = 0;
  {
    wait_limit limit([&] { ++cancelled; });
    for (int i = 0; i < 10'000; ++i) {
      limit.begin(1h);
      limit.end();
    }
    EXPECT_FALSE(limit.over());
    limit.begin(1h); // ends in the middle of a wait
  }
  EXPECT_EQ(cancelled, 0);
}

} // namespace
} // namespace ballast::data
