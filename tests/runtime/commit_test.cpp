#include "runtime/commit.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

std::vector<step_record> steps(uint64_t first, uint64_t last, uint64_t t_ns) {
  std::vector<step_record> out;
  for (uint64_t s = first; s <= last; ++s)
    out.push_back(
        {step_number{s}, epoch_number{1}, plan_number{1}, 8, 0.5, t_ns + s});
  return out;
}

TEST(commit_tracker, commits_a_step_once_every_rank_applied_it) {
  commit_tracker tracker(generation{3}, 2, step_number{10});
  EXPECT_TRUE(tracker.applied(0, steps(11, 13, 100)).empty());
  auto out = tracker.applied(1, steps(11, 12, 50));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].step, step_number{11});
  EXPECT_EQ(out[0].generation, generation{3});
  EXPECT_EQ(out[0].world, 2u);
  EXPECT_EQ(out[0].t_ns, 61u) << "the first apply counts";
  EXPECT_EQ(out[1].step, step_number{12});
  EXPECT_EQ(tracker.committed(), step_number{12});
}

TEST(commit_tracker, ignores_repeated_reports_and_reports_with_a_gap) {
  commit_tracker tracker(generation{1}, 1, step_number{0});
  EXPECT_EQ(tracker.applied(0, steps(1, 2, 0)).size(), 2u);
  EXPECT_TRUE(tracker.applied(0, steps(1, 2, 0)).empty());
  EXPECT_TRUE(tracker.applied(0, steps(4, 5, 0)).empty());
  EXPECT_EQ(tracker.applied(0, steps(3, 3, 0)).size(), 1u);
}

} // namespace
} // namespace ballast
