// Goal: svm_smote adds exactly as many rows as are wanted, inwards from border
// rows that are in danger and outwards from the others. Method: random points,
// the rule as loops over all rows, and the conditions of the optimum.
#include "data/resampling/support_vectors.hpp"
#include "tests/data/resampling/some_rows.hpp"

#include <gmock/gmock.h>

#include <set>

namespace ballast::data {
namespace {

/// Of a class: the rows that support its border to any other one.
std::set<uint32_t> border_of_class(const some_points& points, uint32_t c) {
  const auto classes = by_class(points.of_row, points.classes);
  std::set<uint32_t> out;
  for (uint32_t other = 0; other < points.classes; ++other) {
    if (other == c)
      continue;
    std::vector<uint32_t> rows = classes[std::min(c, other)];
    const size_t first = rows.size();
    rows.insert(rows.end(), classes[std::max(c, other)].begin(),
                classes[std::max(c, other)].end());
    for (const uint32_t row :
         support_vectors(points.view(), rows, first,
                         {.gamma = usual_gamma(points.view())}, {}))
      if (points.of_row[row] == c)
        out.insert(row);
  }
  return out;
}

size_t foreign_around(const some_points& points, uint32_t row, size_t m) {
  std::vector<uint32_t> all;
  for (uint32_t c = 0; c < points.classes; ++c)
    all.push_back(c);
  const std::vector<neighbour> near = all_by_distance(points, row, all);
  size_t out = 0;
  for (size_t i = 0; i < m; ++i)
    out += points.of_row[near[i].row] != points.of_row[row] ? 1 : 0;
  return out;
}

TEST(svm_smote, adds_rows_inwards_from_danger_and_outwards_from_safety) {
  for (const some_points& points :
       {normal_points(400, 3, 2, 31), normal_points(300, 4, 3, 32, 0.6),
        tied_points(300, 2, 2, 33)}) {
    const resampled_rows found = resampled(points, "svm_smote");
    const std::vector<uint64_t> counts = counts_of(points, found);
    EXPECT_THAT(counts, testing::Each(std::ranges::max(counts))) << points.name;
    std::map<uint32_t, std::set<uint32_t>> borders;
    uint64_t inwards = 0, outwards = 0;
    for (size_t i = 0; i < found.made.size(); ++i) {
      const made_row& one = found.made[i];
      if (!borders.contains(one.of_class))
        borders[one.of_class] = border_of_class(points, one.of_class);
      ASSERT_TRUE(borders[one.of_class].contains(one.parent));
      const size_t foreign = foreign_around(points, one.parent, 10);
      ASSERT_LT(foreign, 10u) << "noise";
      if (foreign >= 5) {
        ++inwards;
        EXPECT_TRUE(one.fraction >= 0 && one.fraction < 1);
      } else {
        ++outwards;
        EXPECT_TRUE(one.fraction <= 0 && one.fraction > -0.5);
      }
      std::vector<neighbour> near =
          all_by_distance(points, one.parent, {one.of_class});
      near.resize(std::min<size_t>(5, near.size()));
      EXPECT_TRUE(std::ranges::any_of(
          near, [&](const neighbour& n) { return n.row == one.other; }));
      for (size_t c = 0; c < points.columns; ++c) {
        const double from = points.view().at(one.parent)[c];
        const double to = points.view().at(one.other)[c];
        EXPECT_EQ(found.values[i * points.columns + c],
                  from + one.fraction * (to - from));
      }
    }
    EXPECT_GT(inwards, 0u) << points.name;
    EXPECT_GT(outwards, 0u) << points.name;
  }
}

/// A known error of others: the share of the rows in danger is lost then.
TEST(svm_smote, adds_all_rows_where_none_is_in_danger) {
  some_points points = normal_points(200, 2, 2, 34);
  for (const uint32_t row : points.rows())
    points.values[2 * row] += points.of_row[row] == 0 ? 0 : 10;
  const resampled_rows found = resampled(points, "svm_smote");
  const std::vector<uint64_t> counts = counts_of(points, found);
  EXPECT_EQ(counts[0], counts[1]);
  for (const made_row& one : found.made)
    EXPECT_LE(one.fraction, 0);
}

TEST(svm_smote, refuses_a_border_of_noise_and_too_many_rows) {
  some_points points = normal_points(300, 2, 2, 35);
  for (const uint32_t row : points.rows())
    points.of_row[row] = row % 30 == 7 ? 1 : 0;
  // Each of them is just beside a row of the other class.
  for (const uint32_t row : points.rows())
    for (size_t c = 0; c < 2 && points.of_row[row] == 1; ++c)
      points.values[2 * row + c] = points.values[2 * row + 2 + c] + 1e-6;
  EXPECT_THAT(
      refusal_of([&] { resampled(points, "svm_smote", {"m_neighbors=1"}); },
                 errc::invalid_data),
      has_all({"class 'b' of column 'y': all", "svm_smote finds at its border",
               "m_neighbors"}));
  some_points many = normal_points(100'001, 1, 2, 36);
  EXPECT_THAT(
      refusal_of([&] { resampled(many, "svm_smote"); }, errc::invalid_data),
      has_all({"svm_smote: there are 100001 rows", "at most 100000"}));
}

TEST(svm_smote, of_equal_rows_and_constant_columns_adds_what_is_wanted) {
  some_points points = normal_points(120, 3, 2, 37);
  for (const uint32_t row : points.rows())
    points.values[3 * row + 1] = 5;
  const std::vector<uint64_t> counts =
      counts_of(points, resampled(points, "svm_smote"));
  EXPECT_EQ(counts[0], counts[1]);
  std::fill(points.values.begin(), points.values.end(), 2);
  EXPECT_THAT(support_vectors(points.view(), points.rows(), 60,
                              {.gamma = usual_gamma(points.view())}, {}),
              testing::SizeIs(120));
}

TEST(svm_smote, is_the_same_for_any_number_of_threads) {
  const some_points points = normal_points(600, 4, 3, 38);
  EXPECT_EQ(resampled(points, "svm_smote").values,
            resampled(points, "svm_smote", {}, 3).values);
}

TEST(support_vectors, are_the_same_with_few_rows_of_the_kernel_in_memory) {
  const some_points points = normal_points(500, 3, 2, 39);
  const auto classes = by_class(points.of_row, 2);
  std::vector<uint32_t> rows = classes[0];
  rows.insert(rows.end(), classes[1].begin(), classes[1].end());
  const auto found = [&](size_t cache_bytes) {
    return support_vectors(points.view(), rows, classes[0].size(),
                           {.gamma = 0.3, .cache_bytes = cache_bytes}, {});
  };
  EXPECT_EQ(found(1), found(size_t{64} << 20));
}

} // namespace
} // namespace ballast::data
