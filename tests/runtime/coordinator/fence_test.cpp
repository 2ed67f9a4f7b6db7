// Goal: a fence knows how long who was asked has had to answer, also where the
// coordinator itself stood still meanwhile.
#include "runtime/coordinator/fence.hpp"

#include <gtest/gtest.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;

TEST(fence, excuses_whom_it_asked_before_the_coordinator_stood_still) {
  fence one(generation{1}, {worker_id{1}}, "why", 1s, 2s);
  one.excuse(5s, 8s); // from 3 s to 8 s
  EXPECT_EQ(one.asked_last(), 6s);
  EXPECT_FALSE(one.overdue(8s));
  EXPECT_TRUE(one.overdue(9s));
}

// Seed 3476: a worker that came back with the first message after it had the
// time of the pause once more.
TEST(fence, does_not_excuse_whom_it_asked_afterwards) {
  fence one(generation{1}, {worker_id{1}}, "why", 1s, 2s);
  one.asked(8s);
  one.excuse(5s, 8s);
  EXPECT_EQ(one.asked_last(), 8s);
}

} // namespace
} // namespace ballast::coordinator
