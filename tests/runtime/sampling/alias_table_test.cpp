#include "runtime/sampling/alias_table.hpp"

#include <gtest/gtest.h>

namespace ballast::sampling {
namespace {

/// The weight of each draw, counted over all that a grid of numbers stands for.
std::vector<double> shares(const alias_table& table, uint64_t numbers) {
  std::vector<double> out(table.size());
  for (uint64_t i = 0; i < numbers; ++i)
    out[table.draw(i * (UINT64_MAX / numbers))] += 1 / double(numbers);
  return out;
}

TEST(alias_table, draws_each_as_often_as_its_weight_says) {
  const std::vector<double> weights{1, 0, 3, 0.5, 11.5, 4};
  const std::vector<double> found = shares(alias_table(weights), 1 << 20);
  for (size_t i = 0; i < weights.size(); ++i)
    EXPECT_NEAR(found[i], weights[i] / 20, 1e-5) << i;
}

TEST(alias_table, never_draws_a_weight_of_0) {
  std::vector<double> weights(1000);
  for (size_t i = 0; i < weights.size(); i += 3)
    weights[i] = 1e-9 * double(i + 1);
  const alias_table table(weights);
  std::vector<uint32_t> drawn(100'000);
  table.draw(counter_random(1, 2), 0, drawn);
  for (uint32_t one : drawn)
    ASSERT_EQ(one % 3, 0u);
  for (uint64_t bits : {uint64_t{0}, UINT64_MAX})
    EXPECT_EQ(table.draw(bits) % 3, 0u);
}

TEST(alias_table, one_weight_is_always_drawn) {
  const alias_table table(std::vector<double>{1e-300});
  EXPECT_EQ(table.draw(0), 0u);
  EXPECT_EQ(table.draw(UINT64_MAX), 0u);
}

TEST(alias_table, many_draws_are_those_of_the_single_ones) {
  const alias_table table(std::vector<double>{5, 1, 1, 9, 2});
  const counter_random random(7, 1);
  std::vector<uint32_t> many(101);
  table.draw(random, 40, many);
  for (size_t i = 0; i < many.size(); ++i)
    EXPECT_EQ(many[i], table.draw(random.at(40 + i)));
}

TEST(alias_table, equal_and_very_unequal_weights_keep_their_shares) {
  for (double ratio : {1.0, 1e3, 1e12}) {
    std::vector<double> weights(64, 1);
    weights[17] = ratio;
    const double sum = 63 + ratio;
    const std::vector<double> found = shares(alias_table(weights), 1 << 22);
    EXPECT_NEAR(found[17], ratio / sum, 2e-5) << ratio;
    EXPECT_NEAR(found[3], 1 / sum, 1e-5) << ratio;
  }
}

TEST(alias_table_death, refuses_weights_that_cannot_be_drawn_from) {
  EXPECT_DEATH(alias_table(std::vector<double>{}), "of 0 weights");
  EXPECT_DEATH(alias_table(std::vector<double>{0, 0}), "no weight is above 0");
  EXPECT_DEATH(alias_table(std::vector<double>{1, -1}), "negative");
}

} // namespace
} // namespace ballast::sampling
