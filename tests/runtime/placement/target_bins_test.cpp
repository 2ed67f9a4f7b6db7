// Goal: bins of a target hold equally many rows as far as equal targets allow.
// Method: tables.
#include "runtime/placement/target_bins.hpp"

#include <cmath>
#include <gmock/gmock.h>

namespace ballast::placement {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Rows per bin.
std::vector<int> counts(const std::vector<float>& targets, uint32_t bins_max) {
  const std::vector<float> edges = bin_edges(targets, bins_max);
  std::vector<int> out(edges.size() + 1);
  for (float target : targets)
    ++out.at(size_t(bin_of(target, edges)));
  return out;
}

TEST(target_bins, hold_equally_many_rows) {
  std::vector<float> targets;
  for (int i = 0; i < 1600; ++i) // far from even, and in no order
    targets.push_back(std::exp(float(i * 7 % 1600) / 100) - 5);
  EXPECT_THAT(counts(targets, 16), Each(100));
  targets.resize(1603, 0.125f);
  EXPECT_EQ(counts(targets, 16).size(), 16u);
  EXPECT_THAT(counts(targets, 16),
              Each(::testing::AllOf(::testing::Ge(97), ::testing::Le(103))));
}

TEST(target_bins, are_one_for_each_target_where_they_are_few) {
  EXPECT_THAT(bin_edges({}), IsEmpty());
  EXPECT_THAT(bin_edges({3, 3, 3}), IsEmpty());
  EXPECT_THAT(bin_edges({3, -1, 3, 2.5f}), ElementsAre(2.5f, 3));
  // Quantiles would put the rare ones together.
  EXPECT_THAT(counts({0, 0, 0, 0, 0, 0, 0, 0, 1, 2}, 4), ElementsAre(8, 1, 1));
}

TEST(target_bins, keep_equal_targets_in_one) {
  std::vector<float> targets(50, 0);
  for (int i = 0; i < 50; ++i)
    targets.push_back(float(i));
  // 51 rows of 0 have the mass of two of four bins.
  EXPECT_THAT(counts(targets, 4), ElementsAre(51, 24, 25));
}

TEST(target_bins, have_a_place_for_every_number) {
  const std::vector<float> edges = bin_edges({1, 2, 3});
  EXPECT_EQ(bin_of(-1e30f, edges), 0);
  EXPECT_EQ(bin_of(1.99f, edges), 0);
  EXPECT_EQ(bin_of(2, edges), 1);
  EXPECT_EQ(bin_of(1e30f, edges), 2);
}

} // namespace
} // namespace ballast::placement
