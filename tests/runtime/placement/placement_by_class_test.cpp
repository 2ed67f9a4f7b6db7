// Goal: labels are spread over the workers as unevenly as a placement says, and
// no more. Method: rows of a few classes; sizes and classes of each worker.
#include "placement_fixture.hpp"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

namespace ballast::placement {
namespace {

using ::testing::HasSubstr;
using namespace testing;

// -- by class -----------------------------------------------------------------

TEST(placement, deals_whole_shards_of_the_sorted_rows) {
  const some_rows of{some_labels(1003, 5), 5};
  placement_spec spec = kind(placement_kind::shards);
  spec.shards_per_worker = 3;
  const uint32_t workers = 7;
  // The shard of each row, found by another way: its place in label order.
  const auto order = place_rows(kind(placement_kind::sorted), of, 1, 1)[0];
  const auto sizes = split_by_shares(1003, std::vector<double>(21, 1));
  std::vector<size_t> shard_of(1003);
  size_t at = 0;
  for (size_t shard = 0; shard < sizes.size(); ++shard)
    for (uint64_t i = 0; i < sizes[shard]; ++i)
      shard_of[order[at++]] = shard;
  const row_lists lists = place_rows(spec, of, workers, 1);
  for (const auto& list : lists) {
    std::map<size_t, uint64_t> rows;
    for (uint64_t row : list)
      ++rows[shard_of[row]];
    EXPECT_EQ(rows.size(), 3u);
    for (const auto& [shard, count] : rows)
      EXPECT_EQ(count, sizes[shard]);
  }
  EXPECT_NE(lists, place_rows(spec, of, workers, 2));
}

TEST(placement, gives_each_worker_its_number_of_classes) {
  for (uint32_t workers : {3, 4, 7, 10})
    for (uint32_t per_worker : {1, 2, 3, 5, 7})
      for (uint64_t seed : {1, 2, 3}) {
        some_rows of{some_labels(1003, 7), 9}; // two classes have no rows
        placement_spec spec = kind(placement_kind::classes);
        spec.classes_per_worker = per_worker;
        const bool fits = per_worker * workers >= 7;
        EXPECT_EQ(!placement_mistake(spec, of, workers), fits);
        if (!fits)
          continue;
        SCOPED_TRACE(std::to_string(workers) + " workers, " +
                     std::to_string(per_worker) + " classes each");
        std::vector<std::vector<uint64_t>> parts(7); // by class: its holders'
        for (const auto& list : place_rows(spec, of, workers, seed)) {
          const auto counts = histogram(list, of.labels, 9);
          EXPECT_EQ(std::count(counts.begin(), counts.end(), uint64_t{0}),
                    9 - int(per_worker));
          for (size_t label = 0; label < 7; ++label)
            if (counts[label] > 0)
              parts[label].push_back(counts[label]);
        }
        std::vector<uint64_t> holders;
        for (const auto& counts : parts) {
          ASSERT_FALSE(counts.empty());
          holders.push_back(counts.size());
          EXPECT_LE(most(counts) - least(counts), 1u);
        }
        EXPECT_LE(most(holders) - least(holders), 1u);
      }
}

TEST(placement, says_why_classes_do_not_fit_on_the_workers) {
  const some_rows of{some_labels(1003, 7), 9};
  placement_spec spec = kind(placement_kind::classes);
  spec.classes_per_worker = 2;
  failure found = placement_mistake(spec, of, 3);
  EXPECT_EQ(found.pointer, "/data/placement/classes_per_worker");
  EXPECT_THAT(found.message, HasSubstr("7 classes do not fit on 3 workers"));
  EXPECT_THAT(found.message, HasSubstr("at least 3"));
  spec.classes_per_worker = 8;
  EXPECT_THAT(placement_mistake(spec, of, 3).message,
              HasSubstr("8 different classes of 7"));
}

TEST(placement, splits_each_class_by_its_column_of_the_matrix) {
  const some_rows of{some_labels(1003, 3), 3};
  placement_spec spec = kind(placement_kind::matrix);
  spec.matrix = {{1, 0, 2}, {3, 0.5, 2}};
  const std::vector<uint64_t> all = histogram(
      place_rows(kind(placement_kind::iid), of, 1, 1)[0], of.labels, 3);
  const row_lists lists = place_rows(spec, of, 2, 1);
  for (uint32_t label = 0; label < 3; ++label) {
    const auto expected = split_by_shares(
        all[label], {spec.matrix[0][label], spec.matrix[1][label]});
    EXPECT_EQ(histogram(lists[0], of.labels, 3)[label], expected[0]);
    EXPECT_EQ(histogram(lists[1], of.labels, 3)[label], expected[1]);
  }
}

TEST(placement, refuses_a_matrix_that_forgets_a_class) {
  some_rows of{some_labels(1003, 3), 4};
  placement_spec spec = kind(placement_kind::matrix);
  spec.matrix = {{1, 1, 1}, {1, 1, 1}};
  EXPECT_THAT(placement_mistake(spec, of, 2).message,
              HasSubstr("row 0 has 3 weights, the data have 4 classes"));
  spec.matrix = {{1, 1, 1, 0}, {1, 1, 1, 0}};
  EXPECT_FALSE(placement_mistake(spec, of, 2)) << "class 3 has no rows";
  of.labels[0] = 3;
  const failure found = placement_mistake(spec, of, 2);
  EXPECT_EQ(found.pointer, "/data/placement/matrix");
  EXPECT_THAT(found.message,
              HasSubstr("column 3 is all 0, but the data have 1 rows"));
}

// -- by random shares of classes ----------------------------------------------

TEST(placement, leaves_nobody_below_the_least_rows) {
  const some_rows of{some_labels(1003, 3), 3};
  placement_spec spec = kind(placement_kind::dirichlet);
  spec.alpha = 0.01;
  EXPECT_LT(least(sizes_of(place_rows(spec, of, 7, 1))), 100u);
  for (uint64_t at_least : {2, 100, 143}) {
    spec.min_rows = at_least;
    EXPECT_FALSE(placement_mistake(spec, of, 7));
    EXPECT_GE(least(sizes_of(place_rows(spec, of, 7, 1))), at_least);
  }
  spec.min_rows = 144;
  const failure found = placement_mistake(spec, of, 7);
  EXPECT_EQ(found.pointer, "/data/placement/min_rows");
  EXPECT_THAT(found.message, HasSubstr("at most 143"));
}

// Who is full takes nothing more: beyond N / W by less than one class.
TEST(placement, balances_the_sizes_of_a_dirichlet_split) {
  const some_rows of{some_labels(2003, 20), 20};
  placement_spec spec = kind(placement_kind::dirichlet);
  spec.alpha = 0.05;
  const uint64_t bound = 2003 / 4 + 1 + 2 * 96; // class 0 is twice the others
  int beyond = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    spec.balanced = false;
    beyond += most(sizes_of(place_rows(spec, of, 4, seed))) > bound;
    spec.balanced = true;
    EXPECT_LE(most(sizes_of(place_rows(spec, of, 4, seed))), bound) << seed;
  }
  EXPECT_GT(beyond, 0) << "without it some are";
}

TEST(placement, draws_a_mix_of_classes_for_each_worker_of_a_given_size) {
  const some_rows of{some_labels(9001, 4), 4};
  placement_spec spec = kind(placement_kind::inner_dirichlet);
  std::map<double, double> mean_top_share;
  for (double alpha : {0.01, 1.0, 1000.0}) {
    spec.alpha = alpha;
    const row_lists lists = place_rows(spec, of, 8, 5);
    EXPECT_EQ(sizes_of(lists), split_by_shares(9001, std::vector(8, 1.0)));
    for (const auto& list : lists)
      mean_top_share[alpha] +=
          double(most(histogram(list, of.labels, 4))) / double(list.size()) / 8;
  }
  EXPECT_GT(mean_top_share[0.01], 0.8);
  EXPECT_GT(mean_top_share[1.0], 0.5);
  EXPECT_LT(mean_top_share[1.0], mean_top_share[0.01]);
  EXPECT_LT(mean_top_share[1000.0], 0.45); // class 0 is two fifths of all
  spec.shares = {5, 2, 1};
  EXPECT_EQ(sizes_of(place_rows(spec, of, 3, 5)),
            split_by_shares(9001, {5, 2, 1}));
}

// All want the one large class; what is left of their mixes must do then.
TEST(placement, goes_on_without_classes_that_are_used_up) {
  some_rows of{std::vector<int32_t>(1000, 0), 50};
  for (size_t row = 0; row < 500; ++row)
    of.labels[row] = int32_t(1 + row % 49);
  placement_spec spec = kind(placement_kind::inner_dirichlet);
  spec.alpha = 1e-3;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const row_lists lists = place_rows(spec, of, 3, seed);
    std::vector<uint64_t> counts(50);
    for (const auto& list : lists)
      for (size_t label = 0; label < 50; ++label)
        counts[label] += histogram(list, of.labels, 50)[label];
    EXPECT_EQ(counts[0], 500u);
    EXPECT_EQ(sizes_of(lists), (std::vector<uint64_t>{334, 333, 333}));
  }
}

} // namespace
} // namespace ballast::placement
