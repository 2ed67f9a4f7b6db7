// Goal: k-means ends with every point at its nearest centre and every centre at
// the mean of its points, the same for any number of threads. Method: points of
// several kinds.
#include "data/neighbours/k_means.hpp"

#include "data/neighbours/principal_axes.hpp"
#include "tests/data/neighbours/some_points.hpp"

#include <gtest/gtest.h>

#include <set>

namespace ballast::data {
namespace {

const counter_random k_means_draws(3, 4);

TEST(k_means, leaves_each_point_at_its_nearest_centre) {
  for (const some_points& points :
       {normal_points(3000, 5, 1, 31), tied_points(800, 2, 1, 32)}) {
    const k_means_result found =
        k_means(points.index(), 0, {.centres = 40}, k_means_draws, {});
    double inertia = 0;
    for (const uint32_t row : points.rows()) {
      neighbour best = {std::numeric_limits<double>::infinity(), 0};
      for (uint32_t k = 0; k < 40; ++k)
        best = std::min(best, neighbour{squared_distance(points.view().at(row),
                                                         found.centres.data() +
                                                             k * points.columns,
                                                         points.columns),
                                        k});
      ASSERT_EQ(found.nearest[row], best.row) << points.name << " " << row;
      inertia += best.squared;
    }
    EXPECT_DOUBLE_EQ(found.inertia, inertia);
  }
}

TEST(k_means, puts_each_centre_at_the_mean_of_its_points) {
  const some_points points = normal_points(2000, 3, 1, 33);
  const k_means_result found = k_means(
      points.index(), 0, {.centres = 10, .tolerance = 0}, k_means_draws, {});
  std::vector<double> sums(30);
  std::vector<double> counts(10);
  for (const uint32_t row : points.rows()) {
    ++counts[found.nearest[row]];
    for (size_t c = 0; c < 3; ++c)
      sums[found.nearest[row] * 3 + c] += points.view().at(row)[c];
  }
  for (size_t i = 0; i < 30; ++i)
    EXPECT_NEAR(found.centres[i], sums[i] / counts[i / 3], 1e-9);
}

TEST(k_means, is_the_same_for_any_number_of_threads) {
  // As many as are begun by several threads, too.
  const some_points points = normal_points(20'000, 6, 1, 34);
  const k_means_result one =
      k_means(points.index(), 0, {.centres = 100}, k_means_draws, {});
  const k_means_result three = k_means(points.index(3), 0, {.centres = 100},
                                       k_means_draws, {.threads = 3});
  EXPECT_EQ(one.centres, three.centres);
  EXPECT_EQ(one.nearest, three.nearest);
}

TEST(k_means, finds_clusters_that_are_apart) {
  some_points points = normal_points(900, 2, 1, 35);
  for (size_t i = 0; i < 900; ++i)
    points.values[2 * i] += double(i % 9) * 100;
  const k_means_result found =
      k_means(points.index(), 0, {.centres = 9}, k_means_draws, {});
  for (size_t i = 9; i < 900; ++i)
    ASSERT_EQ(found.nearest[i], found.nearest[i % 9]) << i;
}

TEST(k_means, takes_as_many_centres_as_there_are_points) {
  const some_points points = normal_points(50, 2, 1, 36);
  const k_means_result found =
      k_means(points.index(), 0, {.centres = 50}, k_means_draws, {});
  EXPECT_EQ(found.inertia, 0);
  EXPECT_EQ(
      std::set<uint32_t>(found.nearest.begin(), found.nearest.end()).size(),
      50u);
}

TEST(k_means, ends_where_more_centres_than_different_points_are_wanted) {
  some_points points = normal_points(60, 2, 1, 37);
  std::fill(points.values.begin(), points.values.end(), 1.5);
  const k_means_result found =
      k_means(points.index(), 0, {.centres = 7}, k_means_draws, {});
  EXPECT_EQ(found.inertia, 0);
}

TEST(principal_axes, are_orthogonal_and_the_longest_comes_first) {
  const some_points points = normal_points(500, 12, 1, 38);
  const std::vector<double> mean(12, 0);
  const std::vector<double> axes =
      principal_axes(second_moments(points.view(), points.rows(), mean, 1), 12);
  std::vector<double> spread(12);
  for (size_t t = 0; t < 12; ++t) {
    for (size_t u = 0; u < 12; ++u) {
      double product = 0;
      for (size_t c = 0; c < 12; ++c)
        product += axes[c * 12 + t] * axes[c * 12 + u];
      EXPECT_NEAR(product, t == u ? 1 : 0, 1e-12);
    }
    for (const uint32_t row : points.rows()) {
      double at = 0;
      for (size_t c = 0; c < 12; ++c)
        at += points.view().at(row)[c] * axes[c * 12 + t];
      spread[t] += at * at;
    }
    if (t > 0) {
      EXPECT_LE(spread[t], spread[t - 1] * (1 + 1e-9));
    }
  }
}

} // namespace
} // namespace ballast::data
