// Goal: after a failure each leaf is computed where it may be computed already,
// and the lost ones by all. Method: small cases by hand, random ones by rules.
#include "runtime/ledger/kept_leaves.hpp"

#include "runtime/ledger/leaf_tree.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace ballast::ledger::keeping {
namespace {

using testing::test_random;

constexpr step_number at{7};

std::vector<uint64_t> equal(size_t ranks) {
  return std::vector<uint64_t>(ranks, 1);
}

uint32_t sum_of(const leaf_ranges& of) {
  uint32_t out = 0;
  for (leaf_range one : of)
    out += count(one);
  return out;
}

TEST(kept_leaves, of_the_living_stay_and_those_of_the_dead_are_spread) {
  const kept_leaves kept =
      keep_leaves(at, {{{0, 8}}, {{16, 24}}, {{24, 32}}}, equal(3), 32);
  EXPECT_EQ(kept.step, at);
  EXPECT_EQ(kept.by_rank, (std::vector<leaf_ranges>{{{0, 8}, {8, 11}},
                                                    {{16, 24}, {11, 14}},
                                                    {{24, 32}, {14, 16}}}));
}

TEST(kept_leaves, that_are_lost_go_to_who_has_fewest_for_its_weight) {
  const kept_leaves kept =
      keep_leaves(at, {{{0, 2}}, {{2, 4}}, {}}, {{1, 4, 1}}, 16);
  EXPECT_EQ(sum_of(kept.by_rank[0]), 3u);
  EXPECT_EQ(sum_of(kept.by_rank[1]), 11u);
  EXPECT_EQ(sum_of(kept.by_rank[2]), 2u) << "a newcomer";
}

TEST(kept_leaves, are_none_where_nobody_had_any) {
  EXPECT_EQ(keep_leaves(at, {{}, {}}, equal(2), 8), kept_leaves{});
}

TEST(kept_leaves, are_none_where_a_rank_would_have_too_many_parts) {
  std::vector<leaf_ranges> had(2);
  for (uint32_t leaf = 0; leaf < 32; leaf += 2)
    had[0].push_back({leaf, leaf + 1});
  had[1] = {{1, 2}};
  EXPECT_EQ(keep_leaves(at, had, equal(2), 32), kept_leaves{});
}

TEST(kept_leaves, are_all_leaves_once_after_any_failures) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    const uint32_t leaves = 1u << random.below(7);
    std::vector<uint64_t> weights;
    for (uint64_t i = random.between(2, 7); i > 0; --i)
      weights.push_back(random.below(4));
    std::vector<leaf_ranges> now;
    for (leaf_range one : split_leaves(leaves, weights))
      now.push_back({one});
    while (now.size() > 1) {
      const auto dead = std::ptrdiff_t(random.below(now.size()));
      now.erase(now.begin() + dead);
      weights.erase(weights.begin() + dead);
      const kept_leaves kept = keep_leaves(at, now, weights, leaves);
      if (kept.step == step_number{})
        break;
      ASSERT_EQ(leaves_error(kept.by_rank, leaves), std::nullopt);
      for (size_t rank = 0; rank < now.size(); ++rank) {
        const leaf_ranges& own = kept.by_rank[rank];
        ASSERT_GE(own.size(), now[rank].size());
        EXPECT_TRUE(std::equal(now[rank].begin(), now[rank].end(), own.begin()))
            << "what it had comes first";
        size_t parts = 0;
        for (leaf_range one : own)
          parts += nodes_of(one).size();
        EXPECT_LE(parts, 20u);
      }
      now = kept.by_rank;
    }
  }
}

TEST(kept_leaves, that_are_missing_or_two_ranks_keep_are_refused) {
  using by_rank = std::vector<leaf_ranges>;
  EXPECT_EQ(leaves_error(by_rank{{{0, 3}}, {{3, 4}}}, 4), std::nullopt);
  EXPECT_EQ(leaves_error(by_rank{{{0, 3}}, {}}, 4),
            "nobody computes 1 of 4 leaves");
  EXPECT_EQ(leaves_error(by_rank{{{0, 3}}, {{2, 4}}}, 4),
            "two ranks keep leaf 2");
  EXPECT_EQ(leaves_error(by_rank{{{0, 5}}}, 4),
            "rank 0 keeps leaves [0, 5) of 4");
  EXPECT_EQ(leaves_error(by_rank{{{3, 2}}}, 4),
            "rank 0 keeps leaves [3, 2) of 4");
}

} // namespace
} // namespace ballast::ledger::keeping
