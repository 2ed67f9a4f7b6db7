// Goal: drawn rows estimate the sum of all without bias, and drawing is on only
// while it pays. Method: counts over many draws; steps whose times and scores
// are made up.
#include "runtime/sampling/importance.hpp"

#include "runtime/base/random.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>

namespace ballast::sampling {
namespace {

/// One row in 20 has a score of about 1, the others of a thousandth.
std::vector<float> mostly_easy(size_t rows) {
  std::vector<float> out(rows, 0.001F);
  for (size_t i = 0; i < rows; i += 20)
    out[i] = 1 + 0.01F * float(i % 7);
  return out;
}

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(importance, chances_sum_up_to_the_draws_and_keep_the_order_of_the_scores) {
  for (const size_t draws : {1, 3, 7, 31, 40}) {
    const std::vector<float> scores = mostly_easy(40);
    const std::vector<double> chances = chances_of(scores, draws, 0.1);
    EXPECT_NEAR(sum_of(chances), double(draws), 1e-9);
    for (size_t i = 0; i < scores.size(); ++i) {
      EXPECT_GE(chances[i], 0.1 * double(draws) / 40 - 1e-12);
      EXPECT_LE(chances[i], 1);
      for (size_t j = 0; j < scores.size(); ++j)
        EXPECT_TRUE(scores[i] < scores[j] || chances[i] >= chances[j]);
    }
  }
  // In proportion, where nothing is capped and the floor is small.
  const std::vector<float> three{1, 2, 5};
  const std::vector<double> one = chances_of(three, 1, 1e-9);
  EXPECT_NEAR(one[0], 0.125, 1e-8);
  EXPECT_NEAR(one[1], 0.25, 1e-8);
  EXPECT_NEAR(one[2], 0.625, 1e-8);
  // What one has too much goes to the others.
  const std::vector<double> two = chances_of(three, 2, 1e-9);
  EXPECT_NEAR(two[0], 1.0 / 3, 1e-8);
  EXPECT_NEAR(two[1], 2.0 / 3, 1e-8);
  EXPECT_EQ(two[2], 1);
}

TEST(importance, rows_whose_scores_are_all_0_are_drawn_alike) {
  const std::vector<float> none(8, 0.0F);
  for (double chance : chances_of(none, 2, 0.1))
    EXPECT_DOUBLE_EQ(chance, 0.25);
  EXPECT_DOUBLE_EQ(noise_ratio(none, chances_of(none, 2, 0.1)), 4);
}

TEST(importance, draws_exactly_as_many_different_rows_as_asked_for) {
  const counter_random random(5, 1);
  const std::vector<double> chances = chances_of(mostly_easy(123), 37, 0.1);
  for (uint64_t i = 0; i < 1000; ++i) {
    const std::vector<drawn_row> drawn = draw_rows(chances, random.unit(i));
    ASSERT_EQ(drawn.size(), 37u);
    for (size_t d = 0; d < drawn.size(); ++d) {
      ASSERT_LT(drawn[d].row, 123u);
      ASSERT_TRUE(d == 0 || drawn[d - 1].row < drawn[d].row);
      ASSERT_EQ(drawn[d].weight, float(1 / chances[drawn[d].row]));
      ASSERT_LE(drawn[d].weight, 1.0001 / (0.1 * 37 / 123));
    }
  }
}

TEST(importance, equal_scores_and_numbers_give_equal_rows) {
  const std::vector<float> scores = mostly_easy(100);
  const counter_random random(9, 2);
  for (uint64_t step = 0; step < 20; ++step)
    EXPECT_EQ(draw_rows(chances_of(scores, 30, 0.1), random.unit(step)),
              draw_rows(chances_of(scores, 30, 0.1), random.unit(step)));
  EXPECT_NE(draw_rows(chances_of(scores, 30, 0.1), random.unit(0)),
            draw_rows(chances_of(scores, 30, 0.1), random.unit(1)));
}

TEST(importance, the_mean_of_many_estimates_is_the_sum_of_all_rows) {
  constexpr int estimates = 10'000;
  const std::vector<float> scores = mostly_easy(60);
  const std::vector<double> chances = chances_of(scores, 18, 0.1);
  const counter_random random(3, 4);
  std::vector<double> values(scores.size()); // not what the scores say
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = double(scores[i]) * normal(random, i) + 0.1;
  double sum = 0, squares = 0;
  for (int e = 0; e < estimates; ++e) {
    double estimate = 0;
    for (const drawn_row& one :
         draw_rows(chances, random.unit(1000 + uint64_t(e))))
      estimate += double(one.weight) * values[one.row];
    sum += estimate;
    squares += estimate * estimate;
  }
  const double mean = sum / estimates;
  const double error =
      std::sqrt((squares / estimates - mean * mean) / estimates);
  EXPECT_GT(error, 0);
  EXPECT_LT(std::abs(mean - sum_of(values)), 3 * error);
}

TEST(importance, knows_scores_that_nothing_can_be_drawn_by) {
  EXPECT_TRUE(are_scores(std::vector<float>{0, 1, 1e19F}));
  for (float bad : {-1e-9F, std::nanf(""), INFINITY})
    EXPECT_FALSE(are_scores(std::vector<float>{0, bad, 1}));
}

// -- the switch ---------------------------------------------------------------

/// What a worker's steps cost, and its switch.
struct played {
  importance_switch state;
  double forward = 1e-5; // a row
  double both = 3e-5;
  double rest = 0;
  uint32_t rows = 100;

  explicit played(const importance_rule& rule = {}) : state(rule) {}

  void step(const std::vector<float>& scores) {
    const uint32_t draws = state.draws(rows);
    if (state.on() || state.looks())
      state.scored(noise_ratio(scores, chances_of(scores, draws, 0.1)));
    const bool on = state.on();
    state.stepped(rows,
                  {on ? forward * rows : 0, both * (on ? draws : rows), rest});
  }
  /// The steps of so many in which it was on.
  int steps(int count, const std::vector<float>& scores) {
    int out = 0;
    for (int i = 0; i < count; ++i) {
      out += state.on();
      step(scores);
    }
    return out;
  }
};

TEST(importance_switch, is_on_soon_where_few_rows_matter) {
  played one;
  EXPECT_FALSE(one.state.on());
  EXPECT_GT(one.steps(200, mostly_easy(100)), 180);
  EXPECT_TRUE(one.state.on());
  EXPECT_LT(*one.state.cost(), 0.75);
}

TEST(importance_switch, is_never_on_where_rows_matter_alike) {
  played one;
  EXPECT_EQ(one.steps(5000, std::vector<float>(100, 0.3F)), 0);
  EXPECT_GT(*one.state.cost(), 1);
}

TEST(importance_switch, goes_off_by_itself_when_the_easy_rows_are_no_more) {
  played one;
  one.steps(100, mostly_easy(100));
  ASSERT_TRUE(one.state.on());
  EXPECT_LT(one.steps(200, std::vector<float>(100, 0.3F)), 50);
  EXPECT_FALSE(one.state.on());
  EXPECT_GT(one.steps(500, mostly_easy(100)), 400);
}

TEST(importance_switch, a_forward_pass_that_costs_too_much_is_found_out) {
  played one;
  one.forward = 2.7e-5; // assumed: a third of both
  const int tried = one.steps(10'000, mostly_easy(100));
  EXPECT_GT(tried, 0);
  EXPECT_LT(tried, 300); // it pays for what it learned once
  EXPECT_FALSE(one.state.on());
}

TEST(importance_switch, what_it_does_not_shorten_counts) {
  played one;
  one.rest = 100 * 3e-5 * 20; // reducing takes twenty times as long
  EXPECT_EQ(one.steps(1000, mostly_easy(100)), 0);
}

TEST(importance_switch, one_slow_step_turns_nothing) {
  played one;
  one.steps(200, mostly_easy(100));
  ASSERT_TRUE(one.state.on());
  one.both *= 50;
  one.step(mostly_easy(100));
  one.both /= 50;
  EXPECT_EQ(one.steps(100, mostly_easy(100)), 100);
}

TEST(importance_switch, always_is_always) {
  played one({.keep = 0.25, .always = true});
  EXPECT_TRUE(one.state.on());
  EXPECT_EQ(one.state.draws(100), 25u);
  EXPECT_EQ(one.state.draws(1), 1u);
  EXPECT_EQ(one.state.draws(9), 3u);
  EXPECT_EQ(one.steps(500, std::vector<float>(100, 0.3F)), 500);
  EXPECT_FALSE(one.state.looks());
}

TEST(importance_switch, a_step_without_rows_says_nothing) {
  played one;
  one.rows = 0;
  for (int i = 0; i < 20; ++i)
    one.state.stepped(0, {});
  EXPECT_FALSE(one.state.cost());
}

} // namespace
} // namespace ballast::sampling
