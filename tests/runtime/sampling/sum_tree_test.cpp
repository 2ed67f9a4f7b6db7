#include "runtime/sampling/sum_tree.hpp"

#include "runtime/base/random.hpp"

#include <gtest/gtest.h>

namespace ballast::sampling {
namespace {

/// How often each is drawn by a number in the middle of each unit of weight.
std::vector<double> drawn(const sum_tree& tree) {
  std::vector<double> units;
  for (double i = 0; i < tree.total(); ++i)
    units.push_back((i + 0.5) / tree.total());
  std::vector<size_t> places(units.size());
  tree.draw(units, places);
  std::vector<double> out(tree.size());
  for (size_t i = 0; i < units.size(); ++i) {
    EXPECT_EQ(places[i], tree.draw(units[i]));
    ++out.at(places[i]);
  }
  return out;
}

TEST(sum_tree, each_weight_has_a_part_as_long_as_itself) {
  const std::vector<double> weights{1, 0, 2, 5};
  const sum_tree tree(weights);
  EXPECT_EQ(tree.total(), 8);
  EXPECT_EQ(drawn(tree), weights);
  EXPECT_EQ(drawn(sum_tree(std::vector<double>{3})), std::vector<double>{3});
}

TEST(sum_tree, changed_weights_are_drawn_as_they_are_now) {
  const counter_random random(3, 1);
  std::vector<double> weights(1003);
  for (size_t i = 0; i < weights.size(); ++i) // sums are exact
    weights[i] = double(random.below(7, i));
  sum_tree tree(weights), by_many(weights);
  for (uint64_t round = 0; round < 3; ++round) {
    std::vector<size_t> at(300);
    std::vector<double> to(at.size());
    for (size_t i = 0; i < at.size(); ++i) {
      at[i] = random.below(weights.size(), 10'000 + round * 1000 + i);
      to[i] = double(random.below(7, 20'000 + round * 1000 + i));
      weights[at[i]] = to[i];
      tree.set(at[i], to[i]);
    }
    by_many.set(at, to);
    EXPECT_EQ(drawn(tree), weights);
    EXPECT_EQ(drawn(by_many), weights);
    EXPECT_EQ(tree.weight(at[7]), weights[at[7]]);
  }
}

TEST(sum_tree, never_draws_a_weight_of_0_whatever_is_rounded) {
  std::vector<double> weights(300);
  for (size_t i = 0; i < 270; i += 10)
    weights[i] = 0.1 * double(i + 1) + 1e-17;
  const sum_tree tree(weights);
  const counter_random random(3, 2);
  for (uint64_t i = 0; i < 10'000; ++i)
    ASSERT_GT(weights[tree.draw(random.unit(i))], 0);
  EXPECT_GT(weights[tree.draw(1 - 0x1p-53)], 0);
}

TEST(sum_tree, its_sums_depend_on_the_weights_alone_not_on_their_past) {
  const counter_random random(3, 3);
  std::vector<double> weights(5000);
  sum_tree changed(weights.size());
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < weights.size(); ++i) {
      weights[i] = random.unit(uint64_t(round) * 5000 + i) * (round ? 1 : 1e15);
      changed.set(i, weights[i]);
    }
  EXPECT_EQ(changed.total(), sum_tree(weights).total());
}

TEST(sum_tree_death, refuses_what_cannot_be_drawn_from) {
  EXPECT_DEATH(sum_tree(size_t{0}), "of nothing");
  EXPECT_DEATH(sum_tree(std::vector<double>{-1}), "negative");
  EXPECT_DEATH(sum_tree(3).draw(0.5), "nothing above 0");
  EXPECT_DEATH(sum_tree(3).set(3, 1), "no such weight");
}

} // namespace
} // namespace ballast::sampling
