// Goal: a plan is what the moves make of the one before, and its rows are
// counted by label, parts of chunks too. Method: plans of two or three shares.
#include "runtime/balance/shard_moves.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gmock/gmock.h>

namespace ballast::balance {
namespace {

using ::testing::ElementsAre;
using testing::placed;
using testing::set_builder;

TEST(count_labels, counts_parts_as_their_share_of_the_chunk) {
  set_builder b(2);
  b.add(0, {8, 2});
  b.add(1, {0, 10});
  ledger::plan p = placed(b.set);
  EXPECT_THAT(count_labels(b.set, p).rows, ElementsAre(8, 2, 0, 10));
  p.shares[0].intervals = {{chunk_id{0}, 0, 5}};
  p.shares[1].intervals = {{chunk_id{0}, 5, 10}, {chunk_id{1}, 0, 10}};
  EXPECT_THAT(count_labels(b.set, p).rows, ElementsAre(4, 1, 4, 11));
}

TEST(count_labels, rounds_so_that_a_share_has_its_rows) {
  set_builder b(3);
  b.add(0, {1, 1, 1});
  b.add(1, {3, 0, 0});
  ledger::plan p = placed(b.set);
  for (uint32_t cut : {1u, 2u}) {
    p.shares[0].intervals = {{chunk_id{0}, 0, cut}};
    p.shares[1].intervals = {{chunk_id{0}, cut, 3}, {chunk_id{1}, 0, 3}};
    label_counts found = count_labels(b.set, p);
    EXPECT_EQ(found.of_worker(0), cut);
    EXPECT_EQ(found.of_worker(1), 6 - cut);
  }
}

TEST(count_labels, has_one_class_where_the_set_has_none) {
  set_builder b(0);
  b.add(0, {});
  b.set.train[0].rows = 7;
  label_counts found = count_labels(b.set, placed(b.set));
  EXPECT_EQ(found.classes, 1u);
  EXPECT_THAT(found.rows, ElementsAre(7));
}

TEST(moved_plan, changes_the_shares_that_it_touches_and_no_others) {
  set_builder b(0);
  for (size_t rank : {0, 0, 1, 2}) {
    b.add(rank, {});
    b.set.train.back().rows = 10;
  }
  ledger::plan before = placed(b.set);
  ledger::plan then = moved_plan(before, {{{chunk_id{1}, 0, 10}, 0, 1, 1, 1}},
                                 plan_number{5}, {});
  EXPECT_EQ(succession_error(before, then, {10, 10, 10, 10}), std::nullopt);
  EXPECT_EQ(then.number, plan_number{5});
  EXPECT_EQ(then.generation, before.generation);
  EXPECT_EQ(then.shares[2], before.shares[2]);
  EXPECT_EQ(then.shares[0].since, plan_number{5});
  EXPECT_EQ(then.shares[1].since, plan_number{5});
  EXPECT_EQ(then.shares[1].stream, 1u);
  EXPECT_THAT(then.shares[1].intervals,
              ElementsAre(ledger::interval{chunk_id{1}, 0, 10},
                          ledger::interval{chunk_id{2}, 0, 10}));
  EXPECT_EQ(then.shares[0].batch_weight, 10u);
  EXPECT_EQ(then.shares[1].batch_weight, 20u);
}

TEST(moved_plan, takes_parts_out_of_the_middle_and_joins_nothing) {
  set_builder b(0);
  for (size_t rank : {0, 1}) {
    b.add(rank, {});
    b.set.train.back().rows = 10;
  }
  ledger::plan before = placed(b.set);
  ledger::plan then = moved_plan(
      before,
      {{{chunk_id{0}, 4, 6}, 0, 1, 1, 1}, {{chunk_id{0}, 6, 8}, 0, 1, 1, 1}},
      plan_number{2}, {3, 4});
  EXPECT_EQ(succession_error(before, then, {10, 10}), std::nullopt);
  EXPECT_THAT(then.shares[0].intervals,
              ElementsAre(ledger::interval{chunk_id{0}, 0, 4},
                          ledger::interval{chunk_id{0}, 8, 10}));
  EXPECT_THAT(then.shares[1].intervals,
              ElementsAre(ledger::interval{chunk_id{0}, 4, 6},
                          ledger::interval{chunk_id{0}, 6, 8},
                          ledger::interval{chunk_id{1}, 0, 10}));
  EXPECT_EQ(then.shares[0].batch_weight, 3u);
  EXPECT_EQ(then.shares[1].batch_weight, 4u);
}

} // namespace
} // namespace ballast::balance
