#include "runtime/balance/coarse_set.hpp"

#include "runtime/balance/repair.hpp"
#include "runtime/balance/skew.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gtest/gtest.h>
#include <map>

namespace ballast::testing {
namespace {

/// `chunks` chunks of 12 + `more` rows for each of the workers; worker w has
/// more of class w % 4 than of the others.
ledger::manifest many_chunks(size_t workers, size_t chunks, uint64_t more = 4) {
  set_builder out(4);
  for (size_t rank = 0; rank < workers; ++rank)
    for (size_t i = 0; i < chunks; ++i) {
      std::vector<uint64_t> histogram(4, 3);
      histogram[rank % 4] += more;
      out.add(rank, histogram);
    }
  return out.set;
}

std::map<worker_id, std::vector<ledger::interval>>
owned(const ledger::plan& of) {
  std::map<worker_id, std::vector<ledger::interval>> out;
  for (const ledger::share& one : of.shares)
    out[one.worker] = one.intervals;
  return out;
}

uint64_t rows_from_others(const ledger::plan& before,
                          const ledger::plan& after) {
  auto had = owned(before);
  uint64_t out = 0;
  for (const ledger::share& one : after.shares) {
    const std::vector<ledger::interval>& old = had[one.worker];
    for (const ledger::interval& piece : one.intervals)
      if (!std::binary_search(old.begin(), old.end(), piece))
        out += rows(piece);
  }
  return out;
}

TEST(coarse_set, has_the_rows_and_labels_of_every_owner) {
  const ledger::manifest set = many_chunks(3, 10'000);
  const ledger::plan now = placed(set);
  const balance::chunk_labels labels(set);
  const balance::coarse_set coarse(set, labels, now, 1000);
  EXPECT_LE(coarse.set().train.size(), 1100u);
  EXPECT_EQ(coarse.set().train_rows, set.train_rows);
  EXPECT_EQ(count_labels(coarse.labels(), coarse.current()).at(1, 1),
            count_labels(labels, now).at(1, 1));
  EXPECT_FALSE(partition_error(coarse.current(), chunk_rows(coarse.set())));
}

TEST(coarse_set, reads_a_move_of_a_part_of_a_group_back_as_its_intervals) {
  const ledger::manifest set = many_chunks(2, 10'000);
  const ledger::plan now = placed(set);
  const balance::coarse_set coarse(set, balance::chunk_labels(set), now, 128);
  const uint32_t group = coarse.set().train[0].rows;
  ASSERT_GT(group, 100u);
  const std::vector<balance::shard_move> moves =
      coarse.of_intervals({{{chunk_id{0}, 20, group}, 0, 1, 0, 1.0}}, set);
  ASSERT_GT(moves.size(), 2u);
  EXPECT_EQ(moves[0].what, (ledger::interval{chunk_id{1}, 4, 16}));
  EXPECT_EQ(moves[1].what, (ledger::interval{chunk_id{2}, 0, 16}));
  EXPECT_EQ(moves[1].bytes, set.train[2].bytes);
  uint64_t moved = 0;
  for (const balance::shard_move& one : moves)
    moved += rows(one.what);
  EXPECT_EQ(moved, group - 20);
  EXPECT_FALSE(partition_error(moved_plan(now, moves, plan_number{2}, {}),
                               chunk_rows(set)));
}

TEST(repair_of_many_chunks,
     gives_away_what_a_lost_worker_had_and_nothing_else) {
  const ledger::manifest set = many_chunks(4, 10'000);
  const ledger::plan before = placed(set);
  const std::vector<worker_id> left{before.shares[0].worker,
                                    before.shares[2].worker,
                                    before.shares[3].worker};
  const ledger::plan after = balance::repaired_plan(
      set, 0.1, before, left, generation{2}, plan_number{2});
  EXPECT_FALSE(succession_error(before, after, chunk_rows(set)));
  EXPECT_EQ(rows_from_others(before, after), rows(before.shares[1]));
  const uint64_t mean = set.train_rows / 3;
  for (const ledger::share& one : after.shares)
    EXPECT_NEAR(double(rows(one)), double(mean), 0.02 * double(mean));
}

TEST(repair_of_many_chunks, gives_a_newcomer_its_part_and_moves_nothing_else) {
  const ledger::manifest set = many_chunks(4, 10'000, 1);
  const ledger::plan before = placed(set);
  std::vector<worker_id> all;
  for (const ledger::share& one : before.shares)
    all.push_back(one.worker);
  all.push_back(worker_id{9});
  const ledger::plan after = balance::repaired_plan(
      set, 0.1, before, all, generation{2}, plan_number{2});
  EXPECT_FALSE(succession_error(before, after, chunk_rows(set)));
  const uint64_t mean = set.train_rows / 5;
  EXPECT_NEAR(double(rows(after.shares[4])), double(mean), 0.02 * double(mean));
  EXPECT_EQ(rows_from_others(before, after), rows(after.shares[4]));
  EXPECT_LE(max_of(measure_skew(balance::chunk_labels(set), after).by_rank),
            max_of(measure_skew(balance::chunk_labels(set), before).by_rank) +
                0.01);
}

TEST(repair_of_many_chunks, never_cuts_a_chunk_that_holds_whole_groups) {
  ledger::manifest set = many_chunks(3, 6'000);
  set.whole_chunks = true;
  const ledger::plan before = placed(set);
  const ledger::plan after = balance::repaired_plan(
      set, 0.1, before, {before.shares[0].worker, before.shares[1].worker},
      generation{2}, plan_number{2});
  for (const ledger::share& one : after.shares)
    for (const ledger::interval& piece : one.intervals)
      EXPECT_EQ(rows(piece), 16u);
}

} // namespace
} // namespace ballast::testing
