// Goal: the nearest points that have a coordinate are exactly those that the
// definition of the distance says. Method: random points of several kinds with
// gaps, the definition as a loop over all points.
#include "data/neighbours/gapped_points.hpp"

#include "tests/data/neighbours/some_points.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace ballast::data {
namespace {

constexpr double gap = std::numeric_limits<double>::quiet_NaN();

std::vector<double> with_gaps_of(some_points points, double share,
                                 uint64_t seed) {
  const counter_random random(seed, 3);
  for (size_t i = 0; i < points.values.size(); ++i)
    if (random.unit(i) < share)
      points.values[i] = gap;
  return std::move(points.values);
}

/// As the definition says it.
double distance_of(const double* a, const double* b, size_t columns) {
  double sum = 0, common = 0;
  for (size_t c = 0; c < columns; ++c)
    if (!std::isnan(a[c]) && !std::isnan(b[c])) {
      sum += (a[c] - b[c]) * (a[c] - b[c]);
      ++common;
    }
  return common == 0 ? std::numeric_limits<double>::infinity()
                     : sum * double(columns) / common;
}

void expect_exact(const std::vector<double>& values,
                  const std::vector<double>& queries, size_t columns,
                  size_t most, const std::string& name) {
  const gapped_points all(values, columns);
  gapped_search search(all, most);
  for (size_t q = 0; q * columns < queries.size(); ++q) {
    const double* point = queries.data() + q * columns;
    search.look(point);
    for (size_t c = 0; c < columns; ++c) {
      std::vector<neighbour> expected;
      for (uint32_t row = 0; std::isnan(point[c]) && row < all.rows(); ++row) {
        const double squared = gapped_distance(point, all.at(row), columns);
        const double defined = distance_of(point, all.at(row), columns);
        if (std::isinf(defined))
          ASSERT_TRUE(std::isinf(squared));
        else
          ASSERT_NEAR(squared, defined, 1e-12 * defined);
        if (!std::isinf(squared) && !std::isnan(all.at(row)[c]))
          expected.push_back({squared, row});
      }
      std::sort(expected.begin(), expected.end());
      if (expected.size() > most)
        expected.resize(most);
      const auto found = search.having(c);
      ASSERT_EQ(std::vector<neighbour>(found.begin(), found.end()), expected)
          << name << " query " << q << " column " << c;
    }
  }
}

TEST(gapped_points, finds_exactly_the_nearest_that_have_the_coordinate) {
  for (const some_points& points : all_kinds_of_points())
    for (const double share : {0.05, 0.4, 0.9})
      for (const size_t most : {1, 5, 40}) {
        const std::vector<double> values = with_gaps_of(points, share, 5);
        std::vector<double> queries = with_gaps_of(points, share, 6);
        queries.resize(std::min<size_t>(queries.size(), 12 * points.columns));
        expect_exact(values, queries, points.columns, most, points.name);
      }
}

TEST(gapped_points, finds_them_for_a_point_far_away) {
  const some_points points = normal_points(500, 5, 1, 31);
  const std::vector<double> values = with_gaps_of(points, 0.2, 7);
  expect_exact(values, {gap, 1e149, 3, gap, -1e100}, 5, 7, "far");
  expect_exact(values, {gap, 1e7, gap, gap, gap}, 5, 7, "rather far");
}

TEST(gapped_points, finds_nobody_without_a_common_coordinate) {
  const gapped_points all({1, gap, 2, gap, gap, 3}, 2);
  gapped_search search(all, 3);
  const double nothing[] = {gap, gap};
  search.look(nothing);
  EXPECT_TRUE(search.having(0).empty());
  const double second[] = {gap, 4};
  search.look(second);
  EXPECT_TRUE(search.having(0).empty()) << "the third lacks the first";
  const double first[] = {4, gap};
  search.look(first);
  EXPECT_TRUE(search.having(1).empty());
  EXPECT_TRUE(search.having(0).empty()) << "of the point before";
}

} // namespace
} // namespace ballast::data
