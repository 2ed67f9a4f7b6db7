// Goal: the search for neighbours is exact, whatever the points are, and the
// same for any number of threads. Method: points of all kinds, against a look
// at all of them.
#include "data/neighbours/nearest.hpp"

#include "data/neighbours/neighbourhood.hpp"
#include "tests/data/neighbours/some_points.hpp"

#include <gtest/gtest.h>

namespace ballast::data {
namespace {

void expect_nearest(const some_points& points, size_t most,
                    const std::vector<uint8_t>& gone) {
  const class_index index = points.index();
  const std::vector<uint32_t> all = index.all();
  const neighbour_table found =
      nearest(index, points.rows(), all, most, {}, gone);
  for (const uint32_t row : points.rows()) {
    std::vector<neighbour> expected = all_by_distance(points, row, all, gone);
    expected.resize(most, nobody);
    const auto now = found.of(row);
    ASSERT_EQ(std::vector<neighbour>(now.begin(), now.end()), expected)
        << points.name << ", row " << row << ", " << most;
  }
}

TEST(nearest, are_those_that_a_look_at_all_points_finds) {
  for (const some_points& points : all_kinds_of_points())
    for (const size_t most : {1, 3, 8})
      expect_nearest(points, most, {});
}

TEST(nearest, are_not_rows_that_are_gone) {
  for (const some_points& points : all_kinds_of_points()) {
    std::vector<uint8_t> gone(points.of_row.size());
    for (size_t i = 0; i < gone.size(); ++i)
      gone[i] = i % 3 == 1 ? 1 : 0;
    expect_nearest(points, 4, gone);
  }
}

TEST(nearest, are_of_the_classes_that_are_asked_for) {
  const some_points points = normal_points(900, 5, 3, 21);
  const class_index index = points.index();
  for (const std::vector<uint32_t>& among :
       {std::vector<uint32_t>{0}, {1}, {2, 1}}) {
    const neighbour_table found = nearest(index, points.rows(), among, 3, {});
    for (const uint32_t row : points.rows()) {
      std::vector<neighbour> expected = all_by_distance(points, row, among);
      expected.resize(3);
      ASSERT_TRUE(std::ranges::equal(found.of(row), expected)) << row;
    }
  }
}

TEST(nearest, are_the_same_for_any_number_of_threads) {
  const some_points points = normal_points(5000, 8, 3, 22);
  const class_index one = points.index(1), three = points.index(3);
  EXPECT_EQ(nearest(one, points.rows(), one.all(), 5, {}).all,
            nearest(three, points.rows(), one.all(), 5, {.threads = 3}).all);
}

TEST(nearest, are_equal_points_of_other_rows_but_never_the_row_itself) {
  const some_points same = all_kinds_of_points().back();
  const class_index index = same.index();
  const neighbour_table found = nearest(index, same.rows(), index.all(), 2, {});
  EXPECT_EQ(found.of(0)[0], (neighbour{0, 1}));
  EXPECT_EQ(found.of(5)[0], (neighbour{0, 0}));
  EXPECT_EQ(found.of(1)[1], (neighbour{0, 2}));
}

TEST(nearest, before_a_bound_are_only_those) {
  const some_points points = normal_points(600, 4, 2, 23);
  const class_index index = points.index();
  std::vector<neighbour> bounds;
  for (const uint32_t row : points.rows())
    bounds.push_back(all_by_distance(points, row, {0, 1})[3]);
  const neighbour_table found =
      nearest_before(index, points.rows(), bounds, index.all(), 8, {});
  for (const uint32_t row : points.rows()) {
    std::vector<neighbour> expected = all_by_distance(points, row, {0, 1});
    expected.resize(3);
    expected.resize(8, nobody);
    ASSERT_TRUE(std::ranges::equal(found.of(row), expected)) << row;
  }
}

TEST(furthest, are_those_that_a_look_at_all_points_finds) {
  for (const some_points& points : all_kinds_of_points()) {
    const class_index index = points.index();
    const uint32_t of = points.classes - 1;
    if (!index.has(of))
      continue;
    const neighbour_table found =
        furthest(index, points.rows(), of, 3, {.threads = 2});
    for (const uint32_t row : points.rows()) {
      std::vector<double> expected;
      for (uint32_t other = 0; other < points.of_row.size(); ++other)
        if (points.of_row[other] == of)
          expected.push_back(squared_distance(
              points.view().at(row), points.view().at(other), points.columns));
      std::sort(expected.rbegin(), expected.rend());
      expected.resize(std::min<size_t>(3, expected.size()));
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(found.of(row)[i].squared, expected[i])
            << points.name << ", row " << row;
    }
  }
}

void expect_around(const some_points& points,
                   const std::vector<uint8_t>& gone) {
  constexpr size_t most = 5;
  const class_index index = points.index();
  const std::vector<uint32_t> all = index.all();
  const neighbourhoods found =
      look_around(index, points.rows(), most, {.threads = 2}, gone);
  for (const uint32_t row : points.rows()) {
    const uint32_t own = points.of_row[row];
    const std::vector<neighbour> near = all_by_distance(points, row, all, gone);
    bool foreign = false;
    for (size_t k = 1; k <= most; ++k) {
      foreign = foreign ||
                (k <= near.size() && points.of_row[near[k - 1].row] != own);
      ASSERT_EQ(found.has_foreign(row, k), foreign)
          << points.name << ", row " << row << ", " << k << " neighbours";
    }
    for (const neighbour& one : found.own_of(row))
      ASSERT_TRUE(one.row == no_row ||
                  (points.of_row[one.row] == own && one.row != row));
  }
}

TEST(neighbourhood, tells_of_rows_of_other_classes_as_a_look_at_all_does) {
  for (const some_points& points : all_kinds_of_points())
    expect_around(points, {});
}

TEST(neighbourhood, does_not_see_rows_that_are_gone) {
  for (const some_points& points : all_kinds_of_points()) {
    std::vector<uint8_t> gone(points.of_row.size());
    for (size_t i = 0; i < gone.size(); ++i)
      gone[i] = i % 4 == 2 ? 1 : 0;
    expect_around(points, gone);
  }
}

} // namespace
} // namespace ballast::data
