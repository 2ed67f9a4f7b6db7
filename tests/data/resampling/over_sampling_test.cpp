// Goal: methods that add rows add exactly as many as are wanted, on lines
// between rows that their rules allow. Method: points of several kinds, the
// rules as loops over all rows.
#include "tests/data/resampling/some_rows.hpp"

#include <gmock/gmock.h>

namespace ballast::data {
namespace {

std::vector<some_points> kinds_to_raise() {
  return {normal_points(700, 4, 2, 61), normal_points(600, 3, 4, 62, 0.4),
          tied_points(600, 2, 2, 63), normal_points(400, 20, 2, 64)};
}

std::vector<uint64_t> before(const some_points& points) {
  return counts_of(points, {.kept = points.rows(),
                            .made = {},
                            .values = {},
                            .codes = {},
                            .targets = {}});
}

/// Each made row is on the line between its parent and one of the `k` nearest
/// among `classes` of these.
void expect_on_lines(const some_points& points, const resampled_rows& found,
                     size_t k, const std::vector<uint32_t>& classes) {
  ASSERT_EQ(found.values.size(), found.made.size() * points.columns);
  EXPECT_EQ(found.kept, points.rows()) << points.name;
  for (size_t i = 0; i < found.made.size(); ++i) {
    const made_row& one = found.made[i];
    ASSERT_EQ(points.of_row[one.parent], one.of_class);
    ASSERT_NE(one.parent, one.other) << "a row is no neighbour of its own";
    ASSERT_TRUE(one.fraction >= 0 && one.fraction < 1);
    std::vector<neighbour> near = all_by_distance(
        points, one.parent,
        classes.empty() ? std::vector<uint32_t>{one.of_class} : classes);
    near.resize(std::min(k, near.size()));
    ASSERT_TRUE(std::ranges::any_of(
        near, [&](const neighbour& n) { return n.row == one.other; }))
        << points.name << " " << i;
    for (size_t c = 0; c < points.columns; ++c) {
      const double from = points.view().at(one.parent)[c];
      const double to = points.view().at(one.other)[c];
      ASSERT_EQ(found.values[i * points.columns + c],
                from + one.fraction * (to - from));
    }
  }
}

TEST(smote, raises_all_classes_to_the_largest_on_lines_within_each) {
  for (const some_points& points : kinds_to_raise()) {
    const resampled_rows found = resampled(points, "smote");
    const uint64_t most = std::ranges::max(before(points));
    EXPECT_THAT(counts_of(points, found), testing::Each(most)) << points.name;
    expect_on_lines(points, found, 5, {});
  }
}

/// A known error of others: the row itself is taken to come first.
TEST(smote, takes_a_row_for_no_neighbour_of_its_own_among_equal_rows) {
  some_points same = normal_points(40, 2, 2, 65);
  std::fill(same.values.begin(), same.values.end(), 1);
  const resampled_rows found = resampled(same, "smote", {"k_neighbors=2"});
  for (const made_row& one : found.made)
    EXPECT_NE(one.parent, one.other);
}

/// A known error of others: each class gets the same numbers again.
TEST(smote, draws_other_numbers_for_each_class) {
  some_points points = normal_points(300, 2, 3, 66, 0.6);
  for (size_t i = 0; i < 300; ++i)
    points.of_row[i] = i < 200 ? 0 : i % 2 == 0 ? 1 : 2;
  const resampled_rows found = resampled(points, "smote");
  std::vector<double> first, second;
  for (const made_row& one : found.made)
    (one.of_class == 1 ? first : second).push_back(one.fraction);
  ASSERT_EQ(first.size(), second.size());
  EXPECT_NE(first, second);
}

TEST(smote, draws_fractions_evenly) {
  const some_points points = normal_points(5000, 2, 2, 67, 0.98);
  const resampled_rows found = resampled(points, "smote");
  std::vector<uint64_t> tenths(10);
  for (const made_row& one : found.made)
    ++tenths[size_t(one.fraction * 10)];
  const double expected = double(found.made.size()) / 10;
  for (const uint64_t one : tenths)
    EXPECT_NEAR(double(one), expected, 5 * std::sqrt(expected));
}

TEST(smote, of_a_class_that_is_too_small_does_what_k_policy_says) {
  some_points points = normal_points(60, 2, 2, 68);
  for (size_t i = 0; i < 60; ++i)
    points.of_row[i] = i % 20 == 3 ? 1 : 0;
  EXPECT_THAT(
      refusal_of([&] { resampled(points, "smote"); }, errc::invalid_data),
      has_all({"class 'b' of column 'y' has 3 rows, k_neighbors = 5 needs 6 "
               "or more",
               "k_policy=shrink"}));
  expect_on_lines(points, resampled(points, "smote", {"k_policy=shrink"}), 2,
                  {});
  const resampled_rows repeated =
      resampled(points, "smote", {"k_policy=duplicate"});
  EXPECT_THAT(counts_of(points, repeated), testing::Each(57u));
  for (const made_row& one : repeated.made)
    EXPECT_EQ(one.parent, one.other);
  points.of_row[3] = points.of_row[23] = 0;
  EXPECT_THAT(
      refusal_of([&] { resampled(points, "smote", {"k_policy=shrink"}); },
                 errc::invalid_data),
      has_all({"has 1 row,", "k_policy=duplicate"}));
}

uint64_t foreign_of(const some_points& points, uint32_t row, size_t m) {
  std::vector<uint32_t> all;
  for (uint32_t c = 0; c < points.classes; ++c)
    all.push_back(c);
  const std::vector<neighbour> near = all_by_distance(points, row, all);
  uint64_t out = 0;
  for (size_t i = 0; i < m; ++i)
    out += points.of_row[near[i].row] != points.of_row[row] ? 1 : 0;
  return out;
}

TEST(borderline_smote, begins_at_rows_in_danger_alone) {
  for (const some_points& points : kinds_to_raise())
    for (const std::string kind : {"borderline-1", "borderline-2"}) {
      const resampled_rows found =
          resampled(points, "borderline_smote", {"kind=" + kind});
      EXPECT_THAT(counts_of(points, found),
                  testing::Each(std::ranges::max(before(points))));
      std::vector<uint32_t> all;
      for (uint32_t c = 0; c < points.classes; ++c)
        all.push_back(c);
      expect_on_lines(points, found, 5,
                      kind == "borderline-1" ? std::vector<uint32_t>{} : all);
      for (const made_row& one : found.made) {
        const uint64_t foreign = foreign_of(points, one.parent, 10);
        ASSERT_TRUE(foreign >= 5 && foreign < 10) << foreign;
        if (points.of_row[one.other] != one.of_class) {
          ASSERT_LT(one.fraction, 0.5);
        }
      }
    }
}

/// A known error of others: they add nothing and say nothing.
TEST(borderline_smote, refuses_a_class_without_a_row_in_danger) {
  some_points points = normal_points(200, 2, 2, 69);
  for (size_t i = 0; i < 200; ++i)
    points.values[2 * i] += points.of_row[i] == 0 ? 0 : 1000;
  EXPECT_THAT(refusal_of([&] { resampled(points, "borderline_smote"); },
                         errc::invalid_data),
              has_all({"class 'b' of column 'y': borderline_smote finds no row "
                       "in danger",
                       "smote"}));
}

/// A known error of others: rounding makes a few rows more or fewer.
TEST(adasyn, adds_exactly_as_many_rows_as_are_wanted) {
  for (const some_points& points : kinds_to_raise()) {
    const resampled_rows found = resampled(points, "adasyn");
    EXPECT_THAT(counts_of(points, found),
                testing::Each(std::ranges::max(before(points))))
        << points.name;
    expect_on_lines(points, found, 5, {});
  }
}

TEST(adasyn, takes_the_more_rows_from_a_row_the_more_neighbours_are_foreign) {
  const some_points points = normal_points(900, 3, 2, 70);
  const resampled_rows found = resampled(points, "adasyn");
  std::map<uint32_t, uint64_t> made;
  uint64_t sum = 0;
  for (const made_row& one : found.made)
    ++made[one.parent];
  for (const uint32_t row : points.rows())
    if (points.of_row[row] == 1)
      sum += foreign_of(points, row, 5);
  for (const uint32_t row : points.rows())
    if (points.of_row[row] == 1)
      EXPECT_NEAR(double(made[row]),
                  double(found.made.size()) *
                      double(foreign_of(points, row, 5)) / double(sum),
                  1);
}

TEST(adasyn, refuses_a_class_without_a_foreign_neighbour) {
  some_points points = normal_points(200, 2, 2, 71);
  for (size_t i = 0; i < 200; ++i)
    points.values[2 * i] += points.of_row[i] == 0 ? 0 : 1000;
  EXPECT_THAT(
      refusal_of([&] { resampled(points, "adasyn"); }, errc::invalid_data),
      has_all({"class 'b' of column 'y': adasyn finds no row with a neighbour "
               "of another class",
               "smote"}));
}

TEST(random_over, repeats_rows_of_each_class) {
  for (const some_points& points : kinds_to_raise()) {
    const resampled_rows found = resampled(points, "random_over");
    EXPECT_TRUE(found.made.empty());
    EXPECT_THAT(counts_of(points, found),
                testing::Each(std::ranges::max(before(points))));
    EXPECT_TRUE(std::equal(points.of_row.begin(), points.of_row.end(),
                           found.kept.begin(),
                           [&](uint32_t, uint32_t) { return true; }));
  }
}

TEST(random_over, with_shrinkage_moves_rows_by_their_deviation) {
  const some_points points = normal_points(4000, 2, 2, 72, 0.9);
  const resampled_rows found =
      resampled(points, "random_over", {"shrinkage=2"});
  const double width = 2 * std::pow(4.0 / (4 * 4000), 1.0 / 6);
  std::vector<double> mean(2), squares(2), moved(2);
  double few = 0;
  for (const uint32_t row : points.rows())
    if (points.of_row[row] == 1)
      for (size_t c = 0; c < 2; ++c) {
        mean[c] += points.view().at(row)[c];
        squares[c] += std::pow(points.view().at(row)[c], 2);
        few += c == 0 ? 1 : 0;
      }
  for (size_t i = 0; i < found.made.size(); ++i)
    for (size_t c = 0; c < 2; ++c)
      moved[c] += std::pow(found.values[2 * i + c] -
                               points.view().at(found.made[i].parent)[c],
                           2);
  for (size_t c = 0; c < 2; ++c) {
    const double deviation =
        std::sqrt(squares[c] / few - std::pow(mean[c] / few, 2));
    EXPECT_NEAR(std::sqrt(moved[c] / double(found.made.size())),
                width * deviation, 0.05 * width * deviation);
  }
}

TEST(over_sampling, is_the_same_for_any_number_of_threads) {
  const some_points points = normal_points(3000, 6, 3, 73);
  for (const std::string method :
       {"smote", "borderline_smote", "adasyn", "random_over"}) {
    const resampled_rows one = resampled(points, method);
    const resampled_rows three = resampled(points, method, {}, 3);
    EXPECT_EQ(one.kept, three.kept) << method;
    EXPECT_EQ(one.values, three.values) << method;
  }
}

TEST(over_sampling, depends_on_the_seed) {
  const some_points points = normal_points(500, 2, 2, 74);
  const graph::resampling_order order = order_of("smote");
  EXPECT_NE(resample(labelled(points), order, 1, {}).values,
            resample(labelled(points), order, 2, {}).values);
}

} // namespace
} // namespace ballast::data
