// Goal: compressing is chosen where it is faster, by all ranks alike, and is
// not even tried where nobody waits. Method: times of the test's choice.
#include "gpu/reduction/compression_trial.hpp"

#include "tests/collectives/harness.hpp"

namespace ballast::gpu {
namespace {

using ballast::testing::complaints;
using ballast::testing::rank_group;
using ballast::testing::soon;
using collectives::collective;

struct times {
  double plain = 1;
  double compressed = 1;
  double waited = 0.5; // part of a step
};

struct verdict {
  bool compresses = false;
  int tried = 0; // compressed steps before it
};

std::vector<verdict> decided(const std::vector<times>& by_rank) {
  std::vector<verdict> out(by_rank.size());
  rank_group group("local", int(by_rank.size()));
  auto outcomes = group.run([&](collective& c) {
    const times& mine = by_rank[size_t(c.rank())];
    verdict& found = out[size_t(c.rank())];
    compression_trial trial;
    for (int step = 0; step < 50 && !trial.decided(); ++step) {
      const double took = trial.compresses() ? mine.compressed : mine.plain;
      found.tried += trial.compresses() ? 1 : 0;
      trial.took(took, took * mine.waited, c, soon());
    }
    EXPECT_TRUE(trial.decided());
    found.compresses = trial.compresses();
  });
  EXPECT_EQ(complaints(outcomes), "");
  return out;
}

TEST(compression_trial, takes_what_is_faster) {
  for (const verdict& one : decided({{1, 0.5, 0.5}, {1, 0.5, 0.5}}))
    EXPECT_TRUE(one.compresses);
  for (const verdict& one : decided({{1, 1.2, 0.5}, {1, 1.2, 0.5}})) {
    EXPECT_FALSE(one.compresses);
    EXPECT_GT(one.tried, 0);
  }
}

TEST(compression_trial, does_not_take_what_is_faster_by_chance) {
  for (const verdict& one : decided({{1, 0.9, 0.5}, {1, 0.85, 0.5}}))
    EXPECT_FALSE(one.compresses);
}

TEST(compression_trial, tries_nothing_where_nobody_waits) {
  for (const verdict& one : decided({{1, 0.5, 0.02}, {1, 0.5, 0.03}})) {
    EXPECT_FALSE(one.compresses);
    EXPECT_EQ(one.tried, 0);
  }
}

TEST(compression_trial, is_decided_alike_where_ranks_measure_different_things) {
  const auto found = decided({{1, 0.2, 0.9}, {1, 1.3, 0}, {1, 0.6, 0.3}});
  for (const verdict& one : found) {
    EXPECT_TRUE(one.compresses);
    EXPECT_EQ(one.tried, found[0].tried);
  }
}

} // namespace
} // namespace ballast::gpu
