// Goal: as few as can be are left out, and the right ones of equals. Method:
// tables, and every small graph against the definition.
#include "runtime/base/random.hpp"
#include "runtime/coordinator/vertex_cover.hpp"

#include <gmock/gmock.h>

#include <algorithm>

namespace ballast::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<size_t> cover(std::vector<graph_edge> edges, size_t dear = 1000) {
  return vertex_cover(edges, dear);
}

bool covers(const std::vector<size_t>& set, std::span<const graph_edge> edges) {
  return std::all_of(edges.begin(), edges.end(), [&set](graph_edge edge) {
    return std::count(set.begin(), set.end(), edge.first) +
               std::count(set.begin(), set.end(), edge.second) >
           0;
  });
}

TEST(vertex_cover, takes_nobody_where_no_edge_is) {
  EXPECT_THAT(cover({}), IsEmpty());
}

TEST(vertex_cover, of_a_pair_takes_the_lower_one) {
  EXPECT_THAT(cover({{2, 1}}), ElementsAre(1));
}

TEST(vertex_cover, takes_the_one_that_has_all_the_edges) {
  EXPECT_THAT(cover({{0, 3}, {1, 3}, {2, 3}}), ElementsAre(3));
}

TEST(vertex_cover, does_not_fall_for_the_one_with_most_edges) {
  // 0 has three, but its neighbours have another one each.
  EXPECT_THAT(cover({{0, 1}, {0, 2}, {0, 3}, {1, 4}, {2, 5}, {3, 6}}),
              ElementsAre(1, 2, 3));
}

TEST(vertex_cover, spares_the_dear_ones_at_any_price) {
  EXPECT_THAT(cover({{0, 3}, {1, 3}, {2, 3}}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(cover({{0, 3}, {3, 4}}, 3), ElementsAre(3)) << "it goes anyway";
}

TEST(vertex_cover, of_many_is_one_though_maybe_not_the_smallest) {
  const counter_random draw(7, 0);
  std::vector<graph_edge> edges;
  for (size_t i = 0; i < 60; ++i)
    edges.emplace_back(i, i + 1 + draw.below(60 - i, i));
  EXPECT_TRUE(covers(cover(edges), edges));
  std::vector<graph_edge> star;
  for (size_t i = 0; i < 200; ++i)
    star.emplace_back(i, 200);
  EXPECT_THAT(cover(star), ElementsAre(200));
  EXPECT_THAT(cover(star, 200), SizeIs(200));
}

TEST(vertex_cover, is_never_larger_than_any_other_one) {
  const std::vector<graph_edge> all{{0, 1}, {0, 2}, {0, 3}, {0, 4}, {1, 2},
                                    {1, 3}, {1, 4}, {2, 3}, {2, 4}, {3, 4}};
  for (uint32_t graph = 1; graph < uint32_t{1} << all.size(); ++graph) {
    std::vector<graph_edge> edges;
    for (size_t i = 0; i < all.size(); ++i)
      if ((graph >> i & 1) != 0)
        edges.push_back(all[i]);
    std::vector<size_t> found = cover(edges);
    ASSERT_TRUE(covers(found, edges));
    for (uint32_t other = 0; other < 32; ++other) {
      std::vector<size_t> set;
      for (size_t vertex = 0; vertex < 5; ++vertex)
        if ((other >> vertex & 1) != 0)
          set.push_back(vertex);
      if (covers(set, edges)) {
        ASSERT_LE(found.size(), set.size());
      }
    }
  }
}

} // namespace
} // namespace ballast::coordinator
