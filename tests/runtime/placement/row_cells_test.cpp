// Goal: rows that look alike share a cell, others do not. Method: groups of
// rows that are known beforehand.
#include "runtime/placement/row_cells.hpp"

#include "runtime/base/random.hpp"

#include <array>
#include <gmock/gmock.h>
#include <map>
#include <set>

namespace ballast::placement {
namespace {

constexpr size_t dimensions = 3;

/// `groups` clouds far from each other, their points in turn.
std::vector<float> clouds(size_t groups, size_t points) {
  const counter_random random(1, 2);
  std::vector<float> out;
  for (size_t i = 0; i < points; ++i)
    for (size_t d = 0; d < dimensions; ++d)
      out.push_back(float(i % groups * (d + 1) * 10) +
                    float(random.unit(i * dimensions + d)));
  return out;
}

std::vector<int32_t> cells_of(const row_cells& cells,
                              const std::vector<float>& points) {
  std::vector<int32_t> out;
  for (size_t at = 0; at < points.size(); at += dimensions)
    out.push_back(cells.of({&points[at], dimensions}));
  return out;
}

TEST(row_cells, follow_groups_that_are_there) {
  const std::vector<float> points = clouds(4, 4000);
  const row_cells cells(points, dimensions, 4);
  ASSERT_EQ(cells.count(), 4u);
  std::map<size_t, std::set<int32_t>> of_group;
  std::set<int32_t> all;
  const std::vector<int32_t> found = cells_of(cells, points);
  for (size_t i = 0; i < found.size(); ++i) {
    of_group[i % 4].insert(found[i]);
    all.insert(found[i]);
  }
  for (const auto& [group, members] : of_group)
    EXPECT_EQ(members.size(), 1u) << group;
  EXPECT_EQ(all.size(), 4u);
}

TEST(row_cells, are_no_more_than_rows_differ) {
  const std::vector<float> same(dimensions * 100, 2.5f);
  EXPECT_EQ(row_cells(same, dimensions).count(), 1u);
  std::vector<float> two = same;
  two.insert(two.end(), {1, 2, 3});
  const row_cells cells(two, dimensions);
  EXPECT_EQ(cells.count(), 2u);
  EXPECT_NE(cells_of(cells, two).front(), cells_of(cells, two).back());
}

TEST(row_cells, are_the_same_for_the_same_rows) {
  const std::vector<float> points = clouds(40, 5000);
  const row_cells once(points, dimensions), again(points, dimensions);
  EXPECT_EQ(once.count(), row_cells_max);
  EXPECT_EQ(cells_of(once, points), cells_of(again, points));
}

TEST(row_cells, see_of_tokens_how_often_each_occurs) {
  std::array<float, token_profile_size> profile{};
  token_profile(std::vector<float>{3, 5, 3, 3 + token_profile_size}, profile);
  EXPECT_FLOAT_EQ(profile[3], 0.75f);
  EXPECT_FLOAT_EQ(profile[5], 0.25f);
  EXPECT_FLOAT_EQ(profile[4], 0);
}

} // namespace
} // namespace ballast::placement
