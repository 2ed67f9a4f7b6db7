// Goal: what is learned of rows has the same bits however they were cut and
// whoever gathered which part; quantiles are exact, or within the bound that
// they state. Method: tables, and random numbers against plain sums and sorts.
#include "data/base/symmetric_eigen.hpp"
#include "data/fitting/merge_tree.hpp"
#include "data/fitting/moments.hpp"
#include "data/fitting/power_lambda.hpp"
#include "data/fitting/quantile_sketch.hpp"
#include "runtime/base/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::data {
namespace {

std::vector<double> some_numbers(size_t count, uint64_t seed = 1) {
  const counter_random random(seed, 5);
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = 1e6 + normal(random, i);
  return out;
}

TEST(moments, of_no_number_are_none_and_of_one_have_no_spread) {
  EXPECT_EQ(moments_of({}).count, 0u);
  const std::vector<double> one{3};
  EXPECT_EQ(moments_of(one).mean, 3);
  EXPECT_EQ(moments_of(one).variance(), 0);
  EXPECT_TRUE(moments_of(one).is_constant());
  EXPECT_EQ(together(moments(), moments_of(one)), moments_of(one));
  EXPECT_EQ(together(moments_of(one), moments()), moments_of(one));
}

TEST(moments, agree_with_those_of_long_doubles_far_from_zero) {
  const std::vector<double> all = some_numbers(100'003);
  long double sum = 0;
  for (double one : all)
    sum += one;
  const long double mean = sum / (long double)(all.size());
  long double squares = 0;
  for (double one : all)
    squares += (one - mean) * (one - mean);
  moments found;
  for (size_t at = 0; at < all.size(); at += 1000)
    found = together(found, moments_of(std::span(all).subspan(
                                at, std::min<size_t>(1000, all.size() - at))));
  EXPECT_NEAR(found.mean, double(mean), 1e-15 * 1e6);
  EXPECT_NEAR(found.squares / double(squares), 1, 1e-12);
  EXPECT_EQ(found.least, *std::min_element(all.begin(), all.end()));
  EXPECT_EQ(found.most, *std::max_element(all.begin(), all.end()));
  EXPECT_FALSE(found.is_constant());
}

TEST(moments, of_equal_numbers_are_constant_whatever_rounding_does) {
  EXPECT_TRUE(moments_of(std::vector<double>(10'000, 0.1)).is_constant());
  EXPECT_TRUE(moments_of(std::vector<double>(10'000, 1e9 + 0.1)).is_constant());
}

TEST(merge_tree, puts_batches_together_by_their_numbers_alone) {
  const auto merge = [](std::string& into, std::string later) {
    into = "(" + into + later + ")";
  };
  std::vector<std::string> found;
  for (const size_t count : {1, 2, 3, 5, 8}) {
    merge_tree<std::string> tree;
    for (size_t i = 0; i < count; ++i)
      tree.add(std::string(1, char('a' + i)), merge);
    found.push_back(*tree.take(merge));
  }
  EXPECT_THAT(found,
              testing::ElementsAre("a", "(ab)", "((ab)c)", "(((ab)(cd))e)",
                                   "(((ab)(cd))((ef)(gh)))"));
  merge_tree<std::string> none;
  EXPECT_FALSE(none.take(merge));
}

TEST(quantile_sketch, is_exact_below_its_limit_and_interpolates) {
  quantile_sketch sketch;
  sketch.add(std::vector<double>{4, 1});
  quantile_sketch later;
  later.add(std::vector<double>{3, 2});
  sketch.merge(later);
  EXPECT_EQ(sketch.error(), 0);
  const ranked_values ranked = sketch.ranked();
  EXPECT_EQ(ranked.quantile(0), 1);
  EXPECT_EQ(ranked.quantile(0.25), 1.75);
  EXPECT_EQ(ranked.quantile(0.5), 2.5);
  EXPECT_EQ(ranked.quantile(1), 4);
  EXPECT_EQ(ranked.median_distance(2.5), 1);
  EXPECT_EQ(quantile_sketch().ranked().quantile(0.5), 0);
}

TEST(quantile_sketch, keeps_the_bound_that_it_states_beyond_its_limit) {
  std::vector<double> all =
      some_numbers(3 * quantile_sketch::exact_values_max + 17);
  merge_tree<quantile_sketch> tree;
  const auto merge = [](quantile_sketch& into, const quantile_sketch& later) {
    into.merge(later);
  };
  for (size_t at = 0; at < all.size(); at += 16384) {
    quantile_sketch part;
    part.add(
        std::span(all).subspan(at, std::min<size_t>(16384, all.size() - at)));
    tree.add(std::move(part), merge);
  }
  const quantile_sketch sketch = *tree.take(merge);
  EXPECT_EQ(sketch.count(), all.size());
  EXPECT_GT(sketch.error(), 0);
  EXPECT_LT(sketch.error(), 0.005);
  std::sort(all.begin(), all.end());
  const ranked_values ranked = sketch.ranked();
  EXPECT_EQ(ranked.count(), all.size());
  for (double part : {0.001, 0.1, 0.5, 0.75, 0.999}) {
    const double value = ranked.quantile(part);
    const double rank =
        double(std::lower_bound(all.begin(), all.end(), value) - all.begin()) /
        double(all.size());
    EXPECT_NEAR(rank, part, sketch.error()) << part;
  }
}

TEST(eigen_of, takes_a_matrix_apart) {
  const eigen_pairs found = eigen_of({2, 1, 1, 2}, 2);
  EXPECT_NEAR(found.values[0], 3, 1e-14);
  EXPECT_NEAR(found.values[1], 1, 1e-14);
  EXPECT_NEAR(found.vectors[0], std::sqrt(0.5), 1e-14);
  EXPECT_NEAR(found.vectors[1], std::sqrt(0.5), 1e-14);
  const counter_random random(3, 3);
  constexpr size_t wide = 20;
  std::vector<double> a(wide * wide);
  for (size_t x = 0; x < wide; ++x)
    for (size_t y = 0; y <= x; ++y)
      a[x * wide + y] = a[y * wide + x] = random.unit(x * wide + y) - 0.5;
  const eigen_pairs all = eigen_of(a, wide);
  for (size_t k = 0; k < wide; ++k)
    for (size_t x = 0; x < wide; ++x) {
      double product = 0;
      for (size_t y = 0; y < wide; ++y)
        product += a[x * wide + y] * all.vectors[k * wide + y];
      EXPECT_NEAR(product, all.values[k] * all.vectors[k * wide + x], 1e-12);
    }
}

TEST(normal_quantile, is_where_the_distribution_has_this_part) {
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-15);
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
  EXPECT_NEAR(normal_quantile(1e-7), -5.199337582192818, 1e-12);
}

} // namespace
} // namespace ballast::data
