// Goal: a plan that is copied in several lists goes on to its end, unless
// another end is wanted. Method: lists of few moves, and what is asked for
// afterwards.
#include "runtime/balance/balancer.hpp"
#include "runtime/balance/round_rest.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace ballast::testing {
namespace {

/// Four chunks of ten rows go from rank 0 to rank 1, which end with 60 and 40.
balance::move_list four_moves() {
  balance::move_list out;
  for (uint32_t chunk = 0; chunk < 4; ++chunk)
    out.moves.push_back({{chunk_id{chunk}, 0, 10}, 0, 1, 100, 1});
  out.good_ends = {0, 1, 3, 4};
  out.after = balance::label_counts(2, 1);
  out.after.at(0, 0) = 60;
  out.after.at(1, 0) = 40;
  return out;
}

balance::round_rest after_the_first() {
  balance::move_list list = four_moves();
  cut_off(list, 1);
  return {list, {60, 40}};
}

const std::vector<uint64_t> room(2, 1000);

TEST(round_rest, is_what_was_cut_off_in_its_order) {
  const balance::round_rest rest = after_the_first();
  const balance::move_list next = rest.next(0);
  ASSERT_EQ(next.moves.size(), 3u);
  EXPECT_EQ(next.moves.front().what.chunk, chunk_id{1});
  EXPECT_EQ(next.moves.back().what.chunk, chunk_id{3});
  EXPECT_EQ(next.rows, 30u);
  EXPECT_EQ(rest.rows(), 30u);
}

TEST(round_rest, may_be_cut_where_the_whole_list_might) {
  const balance::move_list next = after_the_first().next(200);
  EXPECT_EQ(next.moves.size(), 2u); // three of all
  EXPECT_EQ(next.later.size(), 1u);
  const balance::round_rest last(next, {60, 40});
  EXPECT_EQ(last.next(0).moves.size(), 1u);
  // Where it must not end, it goes on.
  EXPECT_EQ(after_the_first().next(100).moves.size(), 2u);
}

TEST(round_rest, of_a_whole_list_is_nothing) {
  const balance::round_rest none(four_moves(), {60, 40});
  EXPECT_FALSE(none.some());
  EXPECT_FALSE(none.leads_to({60, 40}, 1, room));
}

TEST(round_rest, goes_on_while_the_sizes_it_leads_to_are_near_enough) {
  const balance::round_rest rest = after_the_first();
  EXPECT_TRUE(rest.leads_to({60, 40}, 0.05, room));
  EXPECT_TRUE(rest.leads_to({59, 41}, 0.05, room));
  EXPECT_FALSE(rest.leads_to({50, 50}, 0.05, room));
}

TEST(round_rest, goes_on_as_far_off_as_it_was_chosen) {
  balance::move_list list = four_moves();
  cut_off(list, 1);
  const balance::round_rest coarse(list, {50, 50});
  EXPECT_TRUE(coarse.leads_to({50, 50}, 0.05, room));
  EXPECT_FALSE(coarse.leads_to({40, 60}, 0.05, room));
}

TEST(round_rest, stops_where_the_rest_of_it_has_no_room) {
  EXPECT_TRUE(after_the_first().leads_to({60, 40}, 0.05, {0, 300}));
  EXPECT_FALSE(after_the_first().leads_to({60, 40}, 0.05, {0, 299}));
}

TEST(round_rest, gives_nothing_to_who_is_to_own_nothing) {
  EXPECT_FALSE(after_the_first().leads_to({100, 0}, 9, room));
}

} // namespace
} // namespace ballast::testing

namespace ballast::balance {
namespace {

/// Of three workers the last leaves after a round took effect, and both are in
/// one view: what was left of the round is told by ranks that are no more.
TEST(round_rest, is_forgotten_with_the_worker_that_left) {
  testing::set_builder set(3);
  for (int i = 0; i < 20; ++i) {
    set.add(0, {100, 0, 0});
    set.add(1, {0, 100, 0});
    set.add(2, {0, 0, 100});
  }
  const auto chunks = std::make_shared<ledger::manifest>(set.set);
  balancer planner(
      balance_policy{.global_batch = 30,
                     .skew_tv = 0.05,
                     .rate_bytes_per_s = 1000 * testing::row_bytes},
      chunks);
  const auto view_of = [](const ledger::plan& now) {
    load_view out;
    out.generation = now.generation;
    out.number = now.number;
    out.changed = now;
    out.steps_per_epoch = out.steps_left_in_epoch = 200;
    out.steps_left = 10'000;
    for (const ledger::share& one : now.shares) {
      worker_load load;
      load.worker = one.worker;
      load.name = "w" + to_string(one.worker);
      load.rows_left = rows(one);
      load.costs.assign(20, {10, 10'000'000}); // 1 ms a row
      out.workers.push_back(std::move(load));
    }
    return out;
  };
  const ledger::plan first = testing::placed(*chunks);
  const balance_proposal what = planner.observe(view_of(first)).proposal;
  ASSERT_FALSE(what.moves.empty());
  ledger::plan fewer =
      moved_plan(first, what.moves, next(first.number), what.weights);
  fewer.number = next(fewer.number);
  fewer.generation = next(fewer.generation);
  std::vector<ledger::interval> all(fewer.shares[0].intervals.begin(),
                                    fewer.shares[0].intervals.end());
  all.insert(all.end(), fewer.shares[2].intervals.begin(),
             fewer.shares[2].intervals.end());
  fewer.shares[0].intervals = std::move(all);
  sort_intervals(fewer.shares[0]);
  fewer.shares.pop_back();
  load_view after = view_of(fewer);
  after.last = transfer_end::effective;
  const balance_answer answer = planner.observe(after);
  for (const shard_move& one : answer.proposal.moves)
    EXPECT_LT(one.to, 2u);
}

} // namespace
} // namespace ballast::balance
