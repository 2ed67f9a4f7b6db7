// Goal: methods that remove rows down to a number keep those that their rules
// name, exactly as many as are wanted. Method: points of several kinds, the
// rules as loops over all rows.
#include "tests/data/resampling/some_rows.hpp"

#include <gmock/gmock.h>

#include <numeric>
#include <set>

namespace ballast::data {
namespace {

std::vector<some_points> kinds_to_cut() {
  return {normal_points(700, 4, 2, 81), normal_points(600, 3, 4, 82, 0.4),
          tied_points(600, 2, 2, 83), normal_points(400, 20, 2, 84)};
}

uint32_t fewest(const some_points& points) {
  const auto counts =
      counts_of(points, {.kept = points.rows(), .made = {}, .values = {}});
  return uint32_t(std::ranges::min_element(counts) - counts.begin());
}

TEST(random_under, keeps_as_many_rows_of_each_class_each_once) {
  for (const some_points& points : kinds_to_cut()) {
    const resampled_rows found = resampled(points, "random_under");
    const auto counts = counts_of(points, found);
    EXPECT_THAT(counts, testing::Each(counts[fewest(points)])) << points.name;
    EXPECT_TRUE(std::ranges::is_sorted(found.kept));
    EXPECT_EQ(std::set<uint32_t>(found.kept.begin(), found.kept.end()).size(),
              found.kept.size());
  }
}

TEST(random_under, keeps_each_row_equally_often) {
  some_points points = normal_points(100, 1, 2, 85);
  for (size_t i = 0; i < 100; ++i)
    points.of_row[i] = i < 90 ? 0 : 1;
  std::vector<double> times(90);
  const graph::resampling_order order = order_of("random_under");
  for (uint64_t seed = 0; seed < 3000; ++seed)
    for (const uint32_t row : resample(labelled(points), order, seed, {}).kept)
      if (row < 90)
        ++times[row];
  const double expected = 3000.0 * 10 / 90;
  for (const double one : times)
    EXPECT_NEAR(one, expected, 5 * std::sqrt(expected));
}

TEST(random_under, with_replacement_may_keep_a_row_twice) {
  some_points points = normal_points(100, 1, 2, 86);
  for (size_t i = 0; i < 100; ++i)
    points.of_row[i] = i < 52 ? 0 : 1;
  const resampled_rows found =
      resampled(points, "random_under", {"replacement=true"});
  EXPECT_THAT(counts_of(points, found), testing::Each(48u));
  EXPECT_LT(std::set<uint32_t>(found.kept.begin(), found.kept.end()).size(),
            found.kept.size());
}

double sum_of(const some_points& points, uint32_t row, uint32_t to, size_t k,
              bool furthest) {
  std::vector<neighbour> near = all_by_distance(points, row, {to});
  if (furthest)
    std::reverse(near.begin(), near.end());
  double out = 0;
  for (size_t i = 0; i < k; ++i)
    out += std::sqrt(near[i].squared);
  return out;
}

std::vector<uint32_t> expected_of(const some_points& points, uint64_t version) {
  const uint32_t few = fewest(points);
  std::vector<uint32_t> out;
  size_t wanted = 0;
  for (const uint32_t row : points.rows())
    if (points.of_row[row] == few) {
      out.push_back(row);
      ++wanted;
    }
  for (uint32_t c = 0; c < points.classes; ++c) {
    if (c == few)
      continue;
    std::set<uint32_t> rows;
    for (const uint32_t row : points.rows()) {
      if (version != 3 && points.of_row[row] == c)
        rows.insert(row);
      if (version != 3 || points.of_row[row] != few)
        continue;
      const std::vector<neighbour> near = all_by_distance(points, row, {c});
      for (size_t i = 0; i < 40; ++i)
        rows.insert(near[i].row);
    }
    std::vector<std::pair<double, uint32_t>> order;
    for (const uint32_t row : rows) {
      const double sum = sum_of(points, row, few, 3, version == 2);
      order.emplace_back(version == 3 ? -sum : sum, row);
    }
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < wanted; ++i)
      out.push_back(order[i].second);
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(near_miss, keeps_the_rows_that_each_version_names) {
  for (const some_points& points :
       {normal_points(700, 4, 2, 87), normal_points(600, 3, 4, 88, 0.4),
        normal_points(400, 20, 2, 89)})
    for (const uint64_t version : {1, 2, 3})
      EXPECT_EQ(resampled(points, "near_miss",
                          {"version=" + std::to_string(version),
                           "n_neighbors_ver3=40"})
                    .kept,
                expected_of(points, version))
          << points.name << ", version " << version;
}

TEST(near_miss, refuses_to_keep_more_rows_than_version_3_finds) {
  EXPECT_THAT(
      refusal_of(
          [] {
            resampled(normal_points(400, 1, 2, 90, 0.55), "near_miss",
                      {"version=3", "n_neighbors_ver3=1"});
          },
          errc::invalid_data),
      has_all({"near_miss version 3 finds", "take a larger n_neighbors_ver3"}));
}

TEST(cluster_centroids, puts_centres_in_the_place_of_rows) {
  for (const some_points& points : kinds_to_cut()) {
    const resampled_rows found = resampled(points, "cluster_centroids");
    const auto counts = counts_of(points, found);
    EXPECT_THAT(counts, testing::Each(counts[fewest(points)])) << points.name;
    for (const uint32_t row : found.kept)
      EXPECT_EQ(points.of_row[row], fewest(points));
  }
}

/// A known error of others: a row may come twice.
TEST(cluster_centroids, by_hard_voting_keeps_rows_each_once) {
  for (const some_points& points : kinds_to_cut()) {
    const resampled_rows found =
        resampled(points, "cluster_centroids", {"voting=hard"});
    EXPECT_TRUE(found.made.empty());
    const auto counts = counts_of(points, found);
    EXPECT_THAT(counts, testing::Each(counts[fewest(points)])) << points.name;
    EXPECT_EQ(std::set<uint32_t>(found.kept.begin(), found.kept.end()).size(),
              found.kept.size());
  }
}

TEST(under_sampling, is_the_same_for_any_number_of_threads) {
  const some_points points = normal_points(3000, 6, 3, 91);
  for (const std::string method :
       {"random_under", "near_miss", "cluster_centroids"}) {
    const resampled_rows one = resampled(points, method);
    const resampled_rows three = resampled(points, method, {}, 3);
    EXPECT_EQ(one.kept, three.kept) << method;
    EXPECT_EQ(one.values, three.values) << method;
  }
}

} // namespace
} // namespace ballast::data
