// Goal: where a number is to be predicted, ranges follow from its relevance,
// and each gets exactly as many rows as are wanted, made as the rules say.
// Method: numbers with a long tail, the rules as loops over all rows.
#include "data/resampling/relevance.hpp"
#include "tests/data/resampling/some_rows.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace ballast::data {
namespace {

range_terms terms_of(const std::vector<std::string>& options = {}) {
  return *reading_of(order_of("smoter", options)).ranges;
}

/// Rows whose number follows from their columns, with a tail to the right.
struct valued_rows {
  some_points points;
  std::vector<double> targets;
  value_ranges ranges = {};

  labelled_rows labelled_() const {
    return {.features = points.view(),
            .of_row = ranges.of_row,
            .names = ranges.names,
            .label = "y",
            .categories = {},
            .targets = targets};
  }
  resampled_rows by(const std::string& method,
                    const std::vector<std::string>& options = {},
                    size_t threads = 1) {
    const graph::resampling_order order = order_of(method, options);
    ranges = ranges_of(targets, *reading_of(order).ranges, "y");
    points.of_row = ranges.of_row;
    points.classes = uint32_t(ranges.names.size());
    return resample(labelled_(), order, 7, {.threads = threads});
  }
};

valued_rows with_tail(size_t rows, uint64_t seed) {
  valued_rows out{normal_points(rows, 3, 1, seed), {}};
  for (size_t i = 0; i < rows; ++i)
    out.targets.push_back(
        std::exp(out.points.values[3 * i] + out.points.values[3 * i + 1] / 3));
  return out;
}

TEST(relevance, is_1_beyond_the_whiskers_and_0_at_the_median) {
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i)
    values.push_back(i);
  values.push_back(500);
  values.push_back(-400);
  const std::vector<control_point> points =
      control_points(values, terms_of(), "y");
  ASSERT_EQ(points.size(), 3u);
  EXPECT_EQ(points[0].value, 0);
  EXPECT_EQ(points[1].value, 50);
  EXPECT_EQ(points[2].value, 100);
  EXPECT_EQ(relevance_of(-400, points), 1);
  EXPECT_EQ(relevance_of(0, points), 1);
  EXPECT_EQ(relevance_of(50, points), 0);
  EXPECT_EQ(relevance_of(75, points), 0.5);
  EXPECT_EQ(relevance_of(100, points), 1);
  EXPECT_NEAR(relevance_of(60, points), 0.04 * (3 - 0.4), 1e-12);
}

TEST(relevance, looks_at_one_side_where_that_is_said_or_has_outliers) {
  std::vector<double> values;
  for (int i = 0; i <= 100; ++i)
    values.push_back(i);
  values.push_back(500);
  for (const std::string rare : {"both", "high"})
    EXPECT_EQ(ranges_of(values, terms_of({"rare=" + rare}), "y").names,
              (std::vector<std::string>{"0 to 75", "76 to 500, rare"}));
  EXPECT_THAT(
      refusal_of([&] { ranges_of(values, terms_of({"rare=low"}), "price"); },
                 errc::invalid_data),
      has_all({"column 'price' has no rare values", "relevance: [["}));
}

TEST(relevance, makes_ranges_of_points_that_are_said) {
  const std::vector<double> values{1, 2, 3, 4, 5, 6, 7, 8, 9};
  const value_ranges found = ranges_of(
      values, terms_of({"relevance=[[2, 1], [4, 0], [6, 1], [8, 0]]"}), "y");
  EXPECT_EQ(found.names, (std::vector<std::string>{"1 to 3, rare", "4 to 4",
                                                   "5 to 7, rare", "8 to 9"}));
  EXPECT_EQ(found.of_row, (std::vector<uint32_t>{0, 0, 0, 1, 2, 2, 2, 3, 3}));
}

TEST(relevance, of_a_value_that_most_rows_have_is_0_and_of_others_1) {
  std::vector<double> values(100, 5);
  values[3] = 9;
  values[4] = 1;
  EXPECT_EQ(
      ranges_of(values, terms_of(), "y").names,
      (std::vector<std::string>{"1 to 1, rare", "5 to 5", "9 to 9, rare"}));
}

TEST(relevance, refuses_points_that_are_none) {
  for (const std::string said :
       {"often", "[]", "[[1, 0]]", "[[1, 0], [1, 1]]", "[[2, 0], [1, 1]]",
        "[[1, 0], [2, 1.5]]", "[[1, 0], [2]]", "[[1, 0], [2, \"x\"]]"})
    EXPECT_THAT(
        refusal_of(
            [&] {
              ranges_of(std::vector<double>{1, 2, 3},
                        terms_of({"relevance=" + said}), "y");
            },
            errc::usage),
        has_all({"--option relevance: expected auto, or a list", "found"}))
        << said;
}

uint64_t sum_of(const std::vector<uint64_t>& counts) {
  uint64_t out = 0;
  for (const uint64_t one : counts)
    out += one;
  return out;
}

TEST(smoter, gives_each_range_as_many_rows_and_lies_between_two) {
  valued_rows all = with_tail(600, 21);
  const resampled_rows found = all.by("smoter");
  const std::vector<uint64_t> counts = counts_of(all.points, found);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_EQ(counts, (std::vector<uint64_t>{300, 300}));
  EXPECT_TRUE(std::ranges::is_sorted(found.kept));
  ASSERT_EQ(found.targets.size(), found.made.size());
  for (size_t i = 0; i < found.made.size(); ++i) {
    const made_row& one = found.made[i];
    ASSERT_EQ(one.of_class, 1u);
    std::vector<neighbour> near =
        all_by_distance(all.points, one.parent, {one.of_class});
    near.resize(5);
    EXPECT_TRUE(std::ranges::any_of(
        near, [&](const neighbour& n) { return n.row == one.other; }));
    const double from = all.targets[one.parent], to = all.targets[one.other];
    EXPECT_EQ(found.targets[i], from + one.fraction * (to - from));
    for (size_t c = 0; c < 3; ++c) {
      const double a = all.points.view().at(one.parent)[c];
      const double b = all.points.view().at(one.other)[c];
      EXPECT_EQ(found.values[3 * i + c], a + one.fraction * (b - a));
    }
  }
}

TEST(smoter, of_extreme_gives_the_more_rows_the_fewer_there_are) {
  valued_rows all = with_tail(600, 22);
  const resampled_rows found = all.by("smoter", {"sampling_strategy=extreme"});
  const std::vector<uint64_t> after = counts_of(all.points, found);
  const auto before = by_class(all.ranges.of_row, 2);
  EXPECT_EQ(sum_of(after), 600u);
  EXPECT_NEAR(double(after[0]) / double(after[1]),
              double(before[1].size()) / double(before[0].size()), 0.01);
}

TEST(smoter, keeps_all_rows_where_that_is_said) {
  valued_rows all = with_tail(400, 23);
  const resampled_rows found = all.by("smoter", {"under_sample=false"});
  EXPECT_EQ(found.kept, all.points.rows());
  EXPECT_EQ(counts_of(all.points, found)[1], 200u);
}

TEST(smoter, of_a_range_that_is_too_small_does_what_k_policy_says) {
  valued_rows all = with_tail(100, 24);
  for (double& one : all.targets)
    one = 1 + one / 1000;
  all.targets[10] = all.targets[20] = 90;
  const std::string points = "relevance=[[50, 0], [60, 1]]";
  EXPECT_THAT(
      refusal_of([&] { all.by("smoter", {points}); }, errc::invalid_data),
      has_all({"range '90 to 90, rare' of column 'y' has 2 rows,",
               "k_policy=shrink"}));
  const resampled_rows found = all.by("smoter", {points, "k_policy=duplicate"});
  EXPECT_THAT(found.targets, testing::Each(90.0));
}

TEST(smogn, moves_a_row_by_noise_where_its_neighbour_is_far) {
  valued_rows all = with_tail(800, 25);
  const resampled_rows found =
      all.by("smogn", {"noise=0.05", "k_neighbors=60"});
  EXPECT_EQ(counts_of(all.points, found), (std::vector<uint64_t>{400, 400}));
  const std::vector<uint32_t> rare = by_class(all.ranges.of_row, 2)[1];
  uint64_t lines = 0, moved = 0;
  double squares = 0;
  for (size_t i = 0; i < found.made.size(); ++i) {
    const made_row& one = found.made[i];
    std::vector<double> apart;
    for (const uint32_t row : rare)
      if (row != one.parent)
        apart.push_back(std::sqrt(squared_distance(
            all.points.view().at(one.parent), all.points.view().at(row), 3)));
    std::sort(apart.begin(), apart.end());
    const size_t half = apart.size() / 2;
    const double median = apart.size() % 2 == 1
                              ? apart[half]
                              : (apart[half] + apart[half - 1]) / 2;
    if (one.other == no_row) {
      ++moved;
      EXPECT_GT(apart[59], median / 2) << "one of its neighbours is far";
      squares += std::pow(found.targets[i] - all.targets[one.parent], 2);
      continue;
    }
    ++lines;
    EXPECT_LE(std::sqrt(squared_distance(all.points.view().at(one.parent),
                                         all.points.view().at(one.other), 3)),
              median / 2);
  }
  ASSERT_GT(lines, 30u);
  ASSERT_GT(moved, 30u);
  double mean = 0, spread = 0;
  for (const uint32_t row : rare)
    mean += all.targets[row] / double(rare.size());
  for (const uint32_t row : rare)
    spread += std::pow(all.targets[row] - mean, 2) / double(rare.size());
  EXPECT_NEAR(std::sqrt(squares / double(moved)), 0.05 * std::sqrt(spread),
              0.3 * 0.05 * std::sqrt(spread));
}

TEST(methods_for_numbers, are_the_same_for_any_number_of_threads) {
  valued_rows all = with_tail(2000, 26);
  for (const std::string method : {"smoter", "smogn"}) {
    const resampled_rows one = all.by(method);
    const resampled_rows three = all.by(method, {}, 3);
    EXPECT_EQ(one.kept, three.kept) << method;
    EXPECT_EQ(one.values, three.values) << method;
    EXPECT_EQ(one.targets, three.targets) << method;
  }
}

} // namespace
} // namespace ballast::data
