#include "runtime/sampling/reservoir.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace ballast::sampling {
namespace {

std::vector<uint64_t> sample_of(uint64_t rows, uint64_t stream_rows,
                                counter_random random) {
  uniform_reservoir from(rows, random);
  std::vector<uint64_t> out;
  while (from.next_row() < stream_rows) {
    if (from.next_place() == out.size())
      out.push_back(0);
    out.at(from.next_place()) = from.next_row();
    from.take();
  }
  return out;
}

/// How far counts of equally likely outcomes are from their mean, in standard
/// deviations of the chi-square statistic.
double surprise(const std::vector<double>& counts,
                const std::vector<double>& expected) {
  double statistic = 0;
  for (size_t i = 0; i < counts.size(); ++i)
    statistic += std::pow(counts[i] - expected[i], 2) / expected[i];
  const double freedom = double(counts.size()) - 1;
  return (statistic - freedom) / std::sqrt(2 * freedom);
}

TEST(uniform_reservoir, keeps_a_stream_that_is_shorter_than_it) {
  EXPECT_EQ(sample_of(5, 3, {1, 1}), (std::vector<uint64_t>{0, 1, 2}));
  EXPECT_EQ(sample_of(5, 5, {1, 1}), (std::vector<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(sample_of(5, 0, {1, 1}), std::vector<uint64_t>{});
}

TEST(uniform_reservoir, each_row_has_the_same_chance) {
  for (uint64_t rows : {uint64_t{1}, uint64_t{7}}) {
    std::vector<double> counts(60);
    constexpr int tries = 20'000;
    for (int i = 0; i < tries; ++i) {
      const std::vector<uint64_t> got = sample_of(rows, 60, {9, uint64_t(i)});
      ASSERT_EQ(got.size(), rows);
      ASSERT_EQ(std::set(got.begin(), got.end()).size(), rows);
      for (uint64_t row : got)
        ++counts[row];
    }
    const std::vector<double> expected(60, tries * double(rows) / 60);
    // Rows of one sample are not independent: a narrower spread is right.
    EXPECT_LT(surprise(counts, expected), 4) << rows;
  }
}

TEST(uniform_reservoir, looks_at_few_rows_of_a_long_stream) {
  uniform_reservoir from(1000, {1, 1});
  uint64_t looked = 0;
  for (; from.next_row() < 1'000'000'000; ++looked)
    from.take();
  // k (1 + ln(n/k)) is 14,800.
  EXPECT_NEAR(double(looked), 14'816, 1000);
}

TEST(merge_uniform, samples_both_streams_as_one) {
  std::vector<double> counts(50);
  constexpr int tries = 20'000;
  for (int i = 0; i < tries; ++i) {
    // 10 rows, then 40.
    const auto first = sample_of(6, 10, {2, uint64_t(3 * i)});
    const auto second = sample_of(6, 40, {2, uint64_t(3 * i + 1)});
    const auto both = merge_uniform(6, 10, 40, {2, uint64_t(3 * i + 2)});
    ASSERT_EQ(both.size(), 6u);
    std::set<uint64_t> rows;
    for (const sampled_from& one : both)
      rows.insert(one.second ? 10 + second.at(one.place) : first.at(one.place));
    ASSERT_EQ(rows.size(), 6u);
    for (uint64_t row : rows)
      ++counts[row];
  }
  EXPECT_LT(surprise(counts, std::vector<double>(50, tries * 6.0 / 50)), 4);
}

TEST(merge_uniform, takes_all_of_what_is_not_more_than_wanted) {
  EXPECT_EQ(merge_uniform(5, 2, 1, {1, 1}),
            (std::vector<sampled_from>{{false, 0}, {false, 1}, {true, 0}}));
  EXPECT_EQ(merge_uniform(5, 0, 0, {1, 1}), std::vector<sampled_from>{});
}

std::vector<weighted_reservoir::kept>
weighted_sample(uint64_t rows, const std::vector<double>& weights,
                counter_random random, uint64_t first = 0) {
  weighted_reservoir from(rows, random);
  std::vector<uint64_t> at(rows);
  for (size_t i = 0; i < weights.size(); ++i)
    if (const uint64_t place = from.offer(first + i, weights[i]);
        place != weighted_reservoir::passed)
      at.at(place) = first + i;
  auto out = from.sample();
  for (const weighted_reservoir::kept& one : out)
    EXPECT_EQ(at.at(one.place), one.row); // the caller holds the same rows
  return out;
}

/// The chance of each row to be among two that are drawn one after the other
/// without being put back.
std::vector<double> among_two(const std::vector<double>& weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<double> out(weights.size());
  for (size_t i = 0; i < weights.size(); ++i)
    for (size_t k = 0; k < weights.size(); ++k)
      if (i != k) {
        const double both = weights[i] / sum * weights[k] / (sum - weights[i]);
        out[i] += both;
        out[k] += both;
      }
  return out;
}

TEST(weighted_reservoir, draws_like_one_after_the_other_by_weight) {
  std::vector<double> weights{0.1, 5, 1, 1, 2, 0.5, 8, 1, 3, 0.7};
  std::vector<double> counts(weights.size());
  constexpr int tries = 40'000;
  for (int i = 0; i < tries; ++i)
    for (const auto& one : weighted_sample(2, weights, {4, uint64_t(i)}))
      ++counts[one.row];
  std::vector<double> expected = among_two(weights);
  for (double& one : expected)
    one *= tries;
  EXPECT_LT(surprise(counts, expected), 4);
}

TEST(weighted_reservoir, samples_of_parts_make_that_of_the_whole) {
  const std::vector<double> weights{0.1, 5, 1, 1, 2, 0.5, 8, 1, 3, 0.7};
  std::vector<double> counts(weights.size());
  constexpr int tries = 40'000;
  for (int i = 0; i < tries; ++i) {
    const std::vector<std::vector<weighted_reservoir::kept>> parts{
        weighted_sample(2, {weights.begin(), weights.begin() + 6},
                        {5, uint64_t(2 * i)}),
        weighted_sample(2, {weights.begin() + 6, weights.end()},
                        {5, uint64_t(2 * i + 1)}, 6)};
    const auto both = merge_weighted(2, parts);
    ASSERT_EQ(both.size(), 2u);
    for (const merged_place& one : both)
      ++counts[parts[one.stream].at(one.place).row];
  }
  std::vector<double> expected = among_two(weights);
  for (double& one : expected)
    one *= tries;
  EXPECT_LT(surprise(counts, expected), 4);
}

TEST(weighted_reservoir, weights_far_from_1_are_drawn_like_any_others) {
  for (double scale : {1e-200, 1e200}) {
    double heavy = 0;
    for (int i = 0; i < 5000; ++i)
      for (const auto& one :
           weighted_sample(1, {scale, 3 * scale}, {6, uint64_t(i)}))
        heavy += double(one.row);
    EXPECT_NEAR(heavy / 5000, 0.75, 0.03) << scale;
  }
}

TEST(weighted_reservoir, a_weight_of_0_never_gets_in) {
  const auto got = weighted_sample(3, {0, 1, 0, 2}, {1, 1});
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].row, 1u);
  EXPECT_EQ(got[1].row, 3u);
}

TEST(reservoir_death, refuses_what_is_no_sample) {
  EXPECT_DEATH(uniform_reservoir(0, {1, 1}), "no rows");
  EXPECT_DEATH(weighted_reservoir(0, {1, 1}), "no rows");
  EXPECT_DEATH(weighted_reservoir(1, {1, 1}).offer(0, -1), "negative");
}

} // namespace
} // namespace ballast::sampling
