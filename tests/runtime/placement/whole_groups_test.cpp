// Goal: rows of a group begin on one worker, with sizes as near to the
// placement's as the groups allow. Method: lists that split groups.
#include "runtime/placement/whole_groups.hpp"

#include "tests/runtime/placement/placement_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace ballast::testing {
namespace {

using ::testing::Each;
using ::testing::Gt;
using ::testing::HasSubstr;

void expect_whole(const row_lists& lists, const std::vector<uint32_t>& group) {
  std::map<uint32_t, std::set<size_t>> ranks;
  std::set<uint64_t> seen;
  for (size_t rank = 0; rank < lists.size(); ++rank)
    for (uint64_t row : lists[rank]) {
      ranks[group[row]].insert(rank);
      seen.insert(row);
    }
  EXPECT_EQ(seen.size(), group.size());
  for (const auto& [number, where] : ranks)
    EXPECT_EQ(where.size(), 1u) << "group " << number;
}

TEST(whole_groups, keeps_every_group_on_one_worker_and_sizes_even) {
  std::vector<uint32_t> group;
  for (uint32_t row = 0; row < 1200; ++row)
    group.push_back(row * 7 % 300);
  const row_lists lists = placement::place_rows(
      kind(placement_kind::iid), {group.size(), {}, 0, {}, group}, 4, 3);
  expect_whole(lists, group);
  EXPECT_LE(most(sizes_of(lists)) - least(sizes_of(lists)), 8u);
}

TEST(whole_groups, leaves_groups_that_are_whole_where_they_are) {
  const std::vector<uint32_t> group{0, 0, 1, 1, 2, 3};
  const row_lists lists{{0, 1, 2, 3}, {4, 5}};
  EXPECT_EQ(placement::with_whole_groups(lists, group), lists);
}

TEST(whole_groups, keeps_the_order_that_the_lists_have) {
  const std::vector<uint32_t> group{0, 1, 2, 3, 3, 4};
  const row_lists lists{{4, 3, 1}, {5, 0, 2}};
  EXPECT_EQ(placement::with_whole_groups(lists, group), lists);
}

TEST(whole_groups, leaves_nobody_empty_beside_a_giant) {
  std::vector<uint32_t> group(100, 0);
  group[98] = 1;
  group[99] = 2;
  const row_lists lists = placement::place_rows(
      kind(placement_kind::contiguous), {100, {}, 0, {}, group}, 3, 1);
  expect_whole(lists, group);
  EXPECT_THAT(sizes_of(lists), Each(Gt(0u)));
}

TEST(whole_groups, says_that_there_are_too_few) {
  const std::vector<uint32_t> group{0, 1, 0, 1};
  const failure mistake = placement::placement_mistake(
      kind(placement_kind::iid), {4, {}, 0, {}, group}, 3);
  EXPECT_THAT(mistake.message, HasSubstr("2 groups are too few for 3 workers"));
}

} // namespace
} // namespace ballast::testing
