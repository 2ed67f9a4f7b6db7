// Goal: each worker that computes leaves has one of them computed again by
// another, all of its leaves in turn, and nobody has more to do than one.
// Method: many sizes, by enumeration.
#include "runtime/ledger/spot_checks.hpp"

#include <gtest/gtest.h>
#include <set>

namespace ballast::ledger {
namespace {

std::vector<leaf_ranges> ranges_of(uint32_t leaves, size_t ranks) {
  std::vector<leaf_ranges> out;
  for (leaf_range one : split_leaves(leaves, std::vector<uint64_t>(ranks, 0)))
    out.push_back({one});
  return out;
}

TEST(spot_checks, take_a_leaf_of_each_worker_and_give_each_one_at_most) {
  for (uint32_t leaves : {1U, 2U, 8U, 32U})
    for (size_t ranks = 1; ranks <= 9; ++ranks)
      for (uint64_t rows : {uint64_t{1}, uint64_t{5}, uint64_t{64}}) {
        const auto ranges = ranges_of(leaves, ranks);
        std::set<uint32_t> owners;
        std::set<uint32_t> checkers;
        for (const spot_check& one : spot_checks(ranges, rows, leaves, 7)) {
          const leaf_range of = ranges[one.owner].front();
          EXPECT_TRUE(of.begin <= one.leaf && one.leaf < of.end);
          const step_rows part =
              rows_of({one.leaf, one.leaf + 1}, rows, leaves);
          EXPECT_LT(part.begin, part.end) << "a leaf without rows";
          EXPECT_TRUE(owners.insert(one.owner).second);
          EXPECT_TRUE(checkers.insert(one.checker).second);
          EXPECT_EQ(one.owner == one.checker, ranks == 1);
          EXPECT_EQ(one.third >= 0, ranks > 2);
          EXPECT_NE(one.third, int64_t{one.owner});
          EXPECT_NE(one.third, int64_t{one.checker});
          EXPECT_LT(one.third, int64_t(ranks));
        }
        for (uint32_t rank = 0; rank < ranks; ++rank) {
          const step_rows part = rows_of(ranges[rank].front(), rows, leaves);
          EXPECT_EQ(owners.contains(rank), part.begin < part.end);
        }
      }
}

TEST(spot_checks, come_to_every_leaf) {
  const auto ranges = ranges_of(8, 3);
  std::set<uint32_t> leaves;
  for (uint64_t turn = 0; turn < 3; ++turn)
    for (const spot_check& one : spot_checks(ranges, 64, 8, turn))
      leaves.insert(one.leaf);
  EXPECT_EQ(leaves.size(), 8u);
}

} // namespace
} // namespace ballast::ledger
