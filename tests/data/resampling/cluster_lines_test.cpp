// Goal: kmeans_smote adds exactly as many rows as are wanted, within clusters
// in which the class is frequent, and more where its rows are further apart.
// Method: clusters that are known, the rules as loops over all rows.
#include "tests/data/resampling/some_rows.hpp"

#include <gmock/gmock.h>

#include <cmath>

namespace ballast::data {
namespace {

/// Three clusters far apart: one of class a alone, one of class b that is
/// dense, and one of class b that is `wider` times as wide.
some_points clusters_of(size_t rows, double wider, uint64_t seed) {
  some_points out = normal_points(rows, 2, 2, seed);
  for (uint32_t row = 0; row < rows; ++row) {
    const uint32_t which = row % 10 < 8 ? 0 : row % 2 == 0 ? 1 : 2;
    out.of_row[row] = which == 0 ? 0 : 1;
    for (size_t c = 0; c < 2; ++c)
      out.values[2 * row + c] =
          normal(counter_random(seed, c), row) * (which == 2 ? wider : 1) +
          1000 * which;
  }
  return out;
}

uint32_t cluster_of(const some_points& points, uint32_t row) {
  return uint32_t(std::lround(points.view().at(row)[0] / 1000));
}

TEST(kmeans_smote, adds_exactly_as_many_rows_within_clusters) {
  const some_points points = clusters_of(400, 1.3, 91);
  const resampled_rows found =
      resampled(points, "kmeans_smote", {"n_clusters=3"});
  const std::vector<uint64_t> counts = counts_of(points, found);
  EXPECT_EQ(counts[0], counts[1]);
  std::map<uint32_t, uint64_t> made;
  for (size_t i = 0; i < found.made.size(); ++i) {
    const made_row& one = found.made[i];
    EXPECT_EQ(one.of_class, 1u);
    EXPECT_EQ(cluster_of(points, one.parent), cluster_of(points, one.other));
    std::vector<neighbour> near = all_by_distance(points, one.parent, {1});
    near.resize(2);
    EXPECT_TRUE(std::ranges::any_of(
        near, [&](const neighbour& n) { return n.row == one.other; }));
    for (size_t c = 0; c < 2; ++c) {
      const double from = points.view().at(one.parent)[c];
      const double to = points.view().at(one.other)[c];
      EXPECT_EQ(found.values[2 * i + c], from + one.fraction * (to - from));
    }
    ++made[cluster_of(points, one.parent)];
  }
  EXPECT_EQ(made[0], 0u);
  EXPECT_GT(made[1], 0u);
  EXPECT_GT(made[2], made[1]);
}

/// The weight of a cluster as the rule says.
double sparsity(const some_points& points, uint32_t cluster, double power) {
  double sum = 0, pairs = 0, rows = 0;
  for (const uint32_t a : points.rows()) {
    if (points.of_row[a] != 1 || cluster_of(points, a) != cluster)
      continue;
    ++rows;
    for (const uint32_t b : points.rows())
      if (a != b && points.of_row[b] == 1 && cluster_of(points, b) == cluster) {
        sum += std::sqrt(
            squared_distance(points.view().at(a), points.view().at(b), 2));
        ++pairs;
      }
  }
  return std::pow(sum / pairs, power) / rows;
}

TEST(kmeans_smote, shares_rows_by_how_sparse_clusters_are) {
  const some_points points = clusters_of(400, 3, 92);
  const resampled_rows found = resampled(
      points, "kmeans_smote", {"n_clusters=3", "density_exponent=1.5"});
  double second = 0;
  for (const made_row& one : found.made)
    second += cluster_of(points, one.parent) == 1 ? 1 : 0;
  const double a = sparsity(points, 1, 1.5), b = sparsity(points, 2, 1.5);
  EXPECT_NEAR(second, double(found.made.size()) * a / (a + b), 1);
}

TEST(kmeans_smote, of_equal_rows_shares_evenly) {
  some_points points = clusters_of(400, 1, 93);
  for (const uint32_t row : points.rows())
    if (points.of_row[row] == 1)
      for (size_t c = 0; c < 2; ++c)
        points.values[2 * row + c] = 1000 * double(cluster_of(points, row));
  const resampled_rows found =
      resampled(points, "kmeans_smote", {"n_clusters=3"});
  const std::vector<uint64_t> counts = counts_of(points, found);
  EXPECT_EQ(counts[0], counts[1]);
}

TEST(kmeans_smote, refuses_a_class_that_no_cluster_has_enough_of) {
  const some_points points = clusters_of(400, 1, 94);
  EXPECT_THAT(refusal_of(
                  [&] {
                    resampled(points, "kmeans_smote",
                              {"n_clusters=3", "k_neighbors=200"});
                  },
                  errc::invalid_data),
              has_all({"class 'b' of column 'y': kmeans_smote finds no cluster",
                       "of 3 clusters, 2 have at least 50 %",
                       "k_neighbors = 200", "smote"}));
  EXPECT_THAT(
      refusal_of([&] { resampled(points, "kmeans_smote", {"n_clusters=401"}); },
                 errc::invalid_data),
      has_all({"n_clusters = 401 needs as many rows"}));
}

TEST(kmeans_smote, refuses_numbers_that_are_none) {
  const some_points points = clusters_of(400, 1, 95);
  for (const std::string option :
       {"cluster_balance_threshold=1.5", "cluster_balance_threshold=half",
        "density_exponent=-1", "density_exponent=nan"})
    EXPECT_THAT(refusal_of([&] { resampled(points, "kmeans_smote", {option}); },
                           errc::usage),
                has_all({"expected auto, or a number from 0 to"}))
        << option;
}

TEST(kmeans_smote, of_one_cluster_is_smote_with_fewer_neighbours) {
  const some_points points = clusters_of(300, 1, 96);
  const resampled_rows one =
      resampled(points, "kmeans_smote", {"n_clusters=1"});
  const resampled_rows other = resampled(points, "smote", {"k_neighbors=2"});
  EXPECT_EQ(one.values, other.values);
}

TEST(kmeans_smote, is_the_same_for_any_number_of_threads) {
  const some_points points = clusters_of(2000, 4, 97);
  EXPECT_EQ(resampled(points, "kmeans_smote", {"n_clusters=3"}).values,
            resampled(points, "kmeans_smote", {"n_clusters=3"}, 3).values);
}

} // namespace
} // namespace ballast::data
