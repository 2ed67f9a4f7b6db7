// Goal: chunks of a worker are such that little has to move for balance: a list
// that is mixed keeps its order, and the classes of another one lie in chunks
// of their own. Method: lists of known mixture.
#include "runtime/balance/chunk_layout.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace ballast::balance {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Le;

/// Rows 0 ... of two workers; `mixtures`: rows per class, in turn.
struct two_lists {
  std::vector<int32_t> labels;
  std::vector<std::vector<uint64_t>> lists;

  explicit two_lists(const std::vector<std::vector<uint64_t>>& mixtures)
      : lists(mixtures.size()) {
    for (size_t rank = 0; rank < mixtures.size(); ++rank) {
      std::vector<uint64_t> left = mixtures[rank];
      while (std::any_of(left.begin(), left.end(),
                         [](uint64_t rows) { return rows > 0; }))
        for (size_t label = 0; label < left.size(); ++label)
          if (left[label] > 0) {
            --left[label];
            lists[rank].push_back(labels.size());
            labels.push_back(int32_t(label));
          }
    }
  }
  std::vector<chunk_layout> chunks(placement_kind kind, uint32_t classes,
                                   uint32_t chunk_rows) const {
    placement_spec spec;
    spec.kind = kind;
    return lay_out_chunks(spec, {labels.size(), labels, classes}, lists,
                          chunk_rows);
  }
};

TEST(lay_out_chunks, gives_every_class_chunks_of_its_own) {
  const two_lists have({{60, 20, 20}, {20, 60, 60}});
  const std::vector<chunk_layout> out =
      have.chunks(placement_kind::dirichlet, 3, 50);
  EXPECT_THAT(out[0].chunk_rows, ElementsAre(50, 10, 20, 20));
  EXPECT_THAT(out[1].chunk_rows, ElementsAre(20, 50, 10, 50, 10));
  for (const std::span<const uint64_t> chunk : chunks_of(out))
    for (uint64_t row : chunk)
      EXPECT_EQ(have.labels[row], have.labels[chunk[0]]);
}

TEST(lay_out_chunks, keeps_the_order_of_a_list_that_is_mixed) {
  const two_lists have({{40, 41, 39}, {60, 59, 61}});
  for (const chunk_layout& list : have.chunks(placement_kind::iid, 3, 50))
    EXPECT_TRUE(std::is_sorted(list.rows.begin(), list.rows.end()));
}

TEST(lay_out_chunks, keeps_the_order_of_the_file_where_that_was_asked_for) {
  const two_lists have({{100, 0}, {0, 100}});
  for (const placement_kind kind :
       {placement_kind::contiguous, placement_kind::sizes})
    for (const chunk_layout& list : have.chunks(kind, 2, 30)) {
      EXPECT_TRUE(std::is_sorted(list.rows.begin(), list.rows.end()));
      EXPECT_THAT(list.chunk_rows, ElementsAre(30, 30, 30, 10));
    }
}

TEST(chunk_rows_for, goes_by_the_size_of_a_share) {
  EXPECT_EQ(chunk_rows_for(60'000, 4), 256u);
  EXPECT_EQ(chunk_rows_for(4'000, 8), 15u) << "32 chunks of 500 rows, or more";
  EXPECT_EQ(chunk_rows_for(60'000'000, 4), 3'663u) << "at most 4096";
  EXPECT_EQ(chunk_rows_for(100, 4), 1u);
  EXPECT_EQ(chunk_rows_for(0, 4), 1u);
  EXPECT_EQ(chunk_rows_for(UINT64_MAX, 1), 1'048'576u);
}

TEST(lay_out_chunks, loses_and_repeats_no_row) {
  const two_lists have({{500, 3, 1, 40}, {0, 700, 0, 1}});
  std::set<uint64_t> seen;
  size_t rows = 0;
  for (const chunk_layout& list : have.chunks(placement_kind::matrix, 4, 64)) {
    size_t in_chunks = 0;
    for (uint32_t some : list.chunk_rows)
      in_chunks += some;
    EXPECT_EQ(in_chunks, list.rows.size());
    EXPECT_THAT(list.chunk_rows, Each(Le(64u)));
    seen.insert(list.rows.begin(), list.rows.end());
    rows += list.rows.size();
  }
  EXPECT_EQ(rows, have.labels.size());
  EXPECT_EQ(seen.size(), have.labels.size());
}

TEST(lay_out_chunks, makes_no_crowd_of_tiny_chunks_of_a_thousand_classes) {
  std::vector<uint64_t> even(1000, 20);
  std::vector<uint64_t> odd(1000, 20);
  for (size_t label = 0; label < 1000; ++label)
    (label % 2 == 0 ? even : odd)[label] = 60;
  const two_lists have({even, odd});
  for (const chunk_layout& list :
       have.chunks(placement_kind::dirichlet, 1000, 256))
    EXPECT_LE(list.chunk_rows.size(), 2 * (list.rows.size() / 256 + 1));
}

TEST(lay_out_chunks, puts_as_many_whole_groups_into_a_chunk_as_fit) {
  const two_lists have({{30, 10}, {10, 30}});
  std::vector<uint32_t> groups;
  for (uint32_t row = 0; row < 80; ++row)
    groups.push_back(row % 40 < 15 ? 1000 + row / 40 : row / 3);
  placement_spec spec;
  spec.kind = placement_kind::dirichlet;
  const std::vector<chunk_layout> out =
      lay_out_chunks(spec, {80, have.labels, 2, {}, groups}, have.lists, 8);
  std::map<uint32_t, std::set<size_t>> chunks_with;
  size_t number = 0;
  size_t rows = 0;
  for (const std::span<const uint64_t> chunk : chunks_of(out)) {
    std::set<uint32_t> in_chunk;
    for (uint64_t row : chunk) {
      chunks_with[groups[row]].insert(number);
      in_chunk.insert(groups[row]);
    }
    EXPECT_TRUE(chunk.size() <= 8 || in_chunk.size() == 1);
    rows += chunk.size();
    ++number;
  }
  EXPECT_EQ(rows, 80u);
  EXPECT_LT(number, 16u);
  for (const auto& [group, chunks] : chunks_with)
    EXPECT_EQ(chunks.size(), 1u) << group;
}

TEST(lay_out_chunks, gives_the_rows_of_each_chunk) {
  const std::vector<chunk_layout> lists{cut_in_order({5, 6, 7}, 2),
                                        cut_in_order({1}, 2)};
  const std::vector<std::span<const uint64_t>> chunks = chunks_of(lists);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_THAT(chunks[0], ElementsAre(5, 6));
  EXPECT_THAT(chunks[1], ElementsAre(7));
  EXPECT_THAT(chunks[2], ElementsAre(1));
}

} // namespace
} // namespace ballast::balance
