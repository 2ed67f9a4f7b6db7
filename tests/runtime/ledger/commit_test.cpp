#include "runtime/ledger/commit.hpp"

#include <gtest/gtest.h>

namespace ballast::ledger {
namespace {

std::vector<step_record> steps(uint64_t first, uint64_t last, uint64_t t_ns) {
  std::vector<step_record> out;
  for (uint64_t s = first; s <= last; ++s)
    out.push_back(
        {step_number{s}, epoch_number{1}, plan_number{1}, 8, 0.5, t_ns + s});
  return out;
}

TEST(commit_tracker, commits_a_step_once_every_rank_applied_it) {
  commit_tracker tracker(2, step_number{10}, step_number{10});
  EXPECT_TRUE(tracker.applied(0, steps(11, 13, 100)).empty());
  auto out = tracker.applied(1, steps(11, 12, 50));
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[0].step, step_number{11});
  EXPECT_EQ(out[0].t_ns, 61u) << "the first apply counts";
  EXPECT_EQ(out[1].step, step_number{12});
  EXPECT_EQ(tracker.committed(), step_number{12});
}

TEST(commit_tracker, ignores_repeated_reports) {
  commit_tracker tracker(1, step_number{0}, step_number{0});
  EXPECT_EQ(tracker.applied(0, steps(1, 2, 0)).size(), 2u);
  EXPECT_TRUE(tracker.applied(0, steps(1, 2, 0)).empty());
  EXPECT_EQ(tracker.applied(0, steps(3, 3, 0)).size(), 1u);
}

TEST(commit_tracker, waits_for_a_step_that_nobody_has_told_of) {
  commit_tracker tracker(1, step_number{0}, step_number{0});
  EXPECT_TRUE(tracker.applied(0, steps(2, 3, 0)).empty());
  EXPECT_EQ(tracker.applied(0, steps(1, 1, 0)).size(), 3u);
}

TEST(commit_tracker, takes_a_later_step_as_proof_of_the_base) {
  commit_tracker before(2, step_number{0}, step_number{0});
  before.note(steps(1, 3, 0));
  commit_tracker after(2, step_number{0}, step_number{3},
                       before.waiting(step_number{3}));
  // Reports of later steps may come before "I stand at the base".
  EXPECT_TRUE(after.applied(0, steps(4, 4, 0)).empty());
  EXPECT_TRUE(after.holds(0, after.base()).empty());
  EXPECT_EQ(after.applied(1, steps(4, 4, 0)).size(), 4u);
}

TEST(commit_tracker, commits_inherited_steps_once_every_rank_holds_them) {
  commit_tracker before(2, step_number{0}, step_number{0});
  before.applied(0, steps(1, 3, 0));
  before.applied(1, steps(1, 1, 0));
  commit_tracker after(2, before.committed(), step_number{3},
                       before.waiting(step_number{3}));
  EXPECT_TRUE(after.holds(0, after.base()).empty());
  EXPECT_TRUE(after.applied(0, steps(4, 4, 0)).empty());
  auto out = after.holds(1, after.base());
  ASSERT_EQ(out.size(), 2u);
  EXPECT_EQ(out[1].step, step_number{3});
  EXPECT_EQ(after.applied(1, steps(4, 4, 0)).size(), 1u);
}

TEST(commit_tracker, waits_for_records_that_are_still_on_their_way) {
  // A newcomer says that it is ready before anybody's last reports are here.
  commit_tracker tracker(2, step_number{5}, step_number{8});
  EXPECT_TRUE(tracker.holds(0, tracker.base()).empty());
  EXPECT_TRUE(tracker.holds(1, tracker.base()).empty());
  EXPECT_TRUE(tracker.applied(1, steps(9, 9, 0)).empty());
  EXPECT_EQ(tracker.applied(0, steps(6, 8, 0)).size(), 3u);
  EXPECT_EQ(tracker.applied(0, steps(9, 9, 0)).size(), 1u);
}

} // namespace
} // namespace ballast::ledger
