#include "runtime/balance/skew.hpp"

#include "runtime/balance/shard_moves.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

namespace ballast::balance {
namespace {

ledger::manifest
labelled_set(const std::vector<std::vector<uint64_t>>& histograms) {
  ledger::manifest set;
  for (const auto& histogram : histograms) {
    ledger::chunk_info chunk;
    chunk.id = chunk_id(uint32_t(set.train.size()));
    chunk.label_histogram = histogram;
    for (uint64_t count : histogram)
      chunk.rows += uint32_t(count);
    set.row.classes = uint32_t(histogram.size());
    set.train_rows += chunk.rows;
    set.train.push_back(chunk);
  }
  return set;
}

ledger::plan owned(const std::vector<std::vector<ledger::interval>>& by_rank) {
  ledger::plan out{plan_number{1}, generation{1}, {}};
  for (const auto& intervals : by_rank)
    out.shares.push_back({worker_id(uint32_t(out.shares.size() + 1)),
                          plan_number{1}, 0, intervals});
  return out;
}

TEST(total_variation, is_half_the_sum_of_differences_of_shares) {
  EXPECT_DOUBLE_EQ(total_variation({1, 1}, {1, 1}), 0);
  EXPECT_DOUBLE_EQ(total_variation({1, 1}, {50, 50}), 0);
  EXPECT_DOUBLE_EQ(total_variation({1, 0}, {0, 7}), 1);
  EXPECT_DOUBLE_EQ(total_variation({3, 1}, {1, 1}), 0.25);
  EXPECT_DOUBLE_EQ(total_variation({1, 2, 3}, {3, 2, 1}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(total_variation({}, {1}), 0);
  EXPECT_DOUBLE_EQ(total_variation({0, 0}, {1, 1}), 0);
}

TEST(skew, is_largest_where_every_worker_owns_one_class) {
  ledger::manifest set = labelled_set({{10, 0}, {0, 10}});
  skew_report skew = measure_skew(
      set, owned({{{chunk_id{0}, 0, 10}}, {{chunk_id{1}, 0, 10}}}));
  EXPECT_EQ(skew.by_rank, (std::vector<double>{0.5, 0.5}));
  EXPECT_DOUBLE_EQ(skew.max, 0.5);
}

TEST(skew, is_none_for_one_worker_and_for_one_who_owns_nothing) {
  ledger::manifest set = labelled_set({{10, 3}, {1, 10}});
  skew_report skew = measure_skew(
      set, owned({{{chunk_id{0}, 0, 13}, {chunk_id{1}, 0, 11}}, {}}));
  EXPECT_EQ(skew.by_rank, (std::vector<double>{0, 0}));
}

TEST(skew, counts_a_part_of_a_chunk_as_its_share_of_the_histogram) {
  ledger::manifest set = labelled_set({{8, 2}, {0, 10}});
  // Worker 1: half of chunk 0 = 4 and 1. Global: 8 of 20 are class 0.
  ledger::plan p = owned(
      {{{chunk_id{0}, 3, 8}},
       {{chunk_id{0}, 0, 3}, {chunk_id{0}, 8, 10}, {chunk_id{1}, 0, 10}}});
  label_counts held = count_labels(set, p);
  EXPECT_EQ(held.at(0, 0), 4u);
  EXPECT_EQ(held.at(0, 1), 1u);
  skew_report skew = measure_skew(set, p);
  EXPECT_DOUBLE_EQ(skew.by_rank[0], 0.8 - 0.4);
  EXPECT_DOUBLE_EQ(skew.by_rank[1], 0.4 - 4.0 / 15);
  EXPECT_DOUBLE_EQ(skew.max, skew.by_rank[0]);
}

TEST(skew, is_none_without_classes) {
  ledger::manifest set = labelled_set({{}});
  set.train[0].rows = 5;
  EXPECT_DOUBLE_EQ(measure_skew(set, owned({{{chunk_id{0}, 0, 5}}})).max, 0);
}

} // namespace
} // namespace ballast::balance
