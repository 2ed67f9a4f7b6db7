// Goal: instance_hardness keeps exactly as many rows as are wanted, those with
// the fewest neighbours of other classes. Method: the rule as a loop over all
// rows.
#include "tests/data/resampling/some_rows.hpp"

#include <gmock/gmock.h>

namespace ballast::data {
namespace {

std::vector<size_t> foreign_of_all(const some_points& points, size_t k) {
  std::vector<uint32_t> all;
  for (uint32_t c = 0; c < points.classes; ++c)
    all.push_back(c);
  std::vector<size_t> out;
  for (const uint32_t row : points.rows()) {
    const std::vector<neighbour> near = all_by_distance(points, row, all);
    out.push_back(0);
    for (size_t i = 0; i < k; ++i)
      out.back() += points.of_row[near[i].row] != points.of_row[row] ? 1 : 0;
  }
  return out;
}

TEST(instance_hardness, keeps_the_rows_whose_neighbours_are_of_their_class) {
  for (const some_points& points :
       {normal_points(600, 4, 2, 81), normal_points(500, 3, 3, 82, 0.6),
        tied_points(500, 2, 2, 83)}) {
    const resampled_rows found = resampled(points, "instance_hardness");
    const std::vector<uint64_t> counts = counts_of(points, found);
    EXPECT_THAT(counts, testing::Each(std::ranges::min(counts))) << points.name;
    EXPECT_TRUE(std::ranges::is_sorted(found.kept));
    const std::vector<size_t> foreign = foreign_of_all(points, 5);
    std::vector<uint8_t> kept(points.of_row.size());
    for (const uint32_t row : found.kept)
      kept[row] = 1;
    for (uint32_t c = 0; c < points.classes; ++c) {
      size_t worst_kept = 0, best_gone = 5;
      for (const uint32_t row : points.rows())
        if (points.of_row[row] == c)
          (kept[row] != 0 ? worst_kept : best_gone) =
              kept[row] != 0 ? std::max(worst_kept, foreign[row])
                             : std::min(best_gone, foreign[row]);
      EXPECT_LE(worst_kept, best_gone) << points.name;
    }
  }
}

/// A known error of others: all rows that are as hard as the last one stay.
TEST(instance_hardness, draws_among_rows_that_are_equally_hard) {
  some_points points = normal_points(400, 2, 2, 84, 0.8);
  for (const uint32_t row : points.rows())
    points.values[2 * row] += points.of_row[row] == 0 ? 0 : 1000;
  const resampled_rows found = resampled(points, "instance_hardness");
  const std::vector<uint64_t> counts = counts_of(points, found);
  EXPECT_EQ(counts[0], counts[1]);
  uint64_t late = 0;
  for (const uint32_t row : found.kept)
    late += points.of_row[row] == 0 && row >= 200 ? 1 : 0;
  EXPECT_NEAR(double(late), double(counts[0]) / 2,
              3 * std::sqrt(double(counts[0])))
      << "not the first ones";
  EXPECT_NE(
      found.kept,
      resample(labelled(points), order_of("instance_hardness"), 8, {}).kept);
}

TEST(instance_hardness, takes_targets_of_each_kind) {
  const some_points points = normal_points(300, 3, 2, 85);
  EXPECT_EQ(counts_of(points, resampled(points, "instance_hardness",
                                        {"sampling_strategy={\"a\": 50}",
                                         "n_neighbors=9"}))[0],
            50u);
  EXPECT_EQ(counts_of(points, resampled(points, "instance_hardness",
                                        {"sampling_strategy={\"a\": 0}"}))[0],
            0u);
}

TEST(instance_hardness, needs_more_rows_than_neighbours) {
  const some_points points = normal_points(6, 2, 2, 3, 0.5);
  EXPECT_THAT(
      refusal_of(
          [&] { resampled(points, "instance_hardness", {"n_neighbors=6"}); },
          errc::invalid_data),
      has_all({"instance_hardness: n_neighbors = 6 needs 7 rows"}));
}

TEST(instance_hardness, is_the_same_for_any_number_of_threads) {
  const some_points points = normal_points(2000, 5, 3, 86);
  EXPECT_EQ(resampled(points, "instance_hardness").kept,
            resampled(points, "instance_hardness", {}, 3).kept);
}

} // namespace
} // namespace ballast::data
