// Goal: a plan waits for the bytes of a worker exactly where its steps could
// have to wait for them otherwise, by what was measured. Method: tables of
// numbers, and a balancer whose workers read rows at a given rate.
#include "runtime/balance/rows_ahead.hpp"

#include "runtime/balance/balancer.hpp"
#include "runtime/balance/explain.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::balance {
namespace {

using ::testing::HasSubstr;

/// Two workers with 1000 rows each, of which half are used; rank 1 takes 10
/// rows in each step of 100 ms.
class ahead : public ::testing::Test {
protected:
  ahead() {
    for (uint32_t i = 0; i < 20; ++i) {
      ledger::chunk_info& one = set_.train.emplace_back();
      one.id = chunk_id{i};
      one.rows = 100;
      one.bytes = 1'000'000;
    }
    for (uint32_t i = 0; i < 10; ++i)
      moves_.push_back({{chunk_id{i}, 0, 100}, 0, 1, 1'000'000, 1});
  }
  rows_ahead judged(std::optional<double> rate, double step_s = 0.1) const {
    const auto all = judge_ahead(
        moves_, {set_, {1000, 1000}, left_, {10, 10}, step_s, {{}, rate}});
    EXPECT_EQ(all.size(), 1u);
    EXPECT_EQ(all.at(0).to, 1u);
    return all.at(0);
  }

  ledger::manifest set_;
  std::vector<shard_move> moves_;
  std::vector<uint64_t> left_{500, 500};
};

TEST_F(ahead,
       is_a_worker_whose_rows_come_twice_as_fast_as_its_steps_lack_them) {
  // Of 10 rows 5 are among those that came, each of 10 kB; where many of a
  // chunk are lacked it comes whole, which is up to four times as much.
  const double need = 5 * 4 * 10'000 / 0.1;
  EXPECT_DOUBLE_EQ(judged(4e6).need_bytes_per_s, need);
  EXPECT_TRUE(judged(2 * need).ahead);
  EXPECT_FALSE(judged(2 * need - 1).ahead);
  EXPECT_EQ(judged(4e6).bytes, 10'000'000u);
}

TEST_F(ahead, is_nobody_whose_rate_was_never_measured) {
  EXPECT_FALSE(judged({}).ahead);
  EXPECT_EQ(judged({}).rate_bytes_per_s, 0);
  EXPECT_THAT(sentence(judged({}), "w2"),
              HasSubstr("how fast rows come to w2 is not known"));
}

TEST_F(ahead, is_nobody_while_the_time_of_a_step_is_unknown) {
  EXPECT_FALSE(judged(1e12, 0).ahead);
}

TEST_F(ahead, counts_small_chunks_whole_because_they_come_whole) {
  for (ledger::chunk_info& one : set_.train)
    one.bytes = 50'000;
  for (shard_move& one : moves_)
    one.bytes = 50'000;
  EXPECT_DOUBLE_EQ(judged(4e6).need_bytes_per_s, 5 * 50'000 / 0.1);
}

TEST_F(ahead, never_lacks_more_in_a_step_than_comes_in_all) {
  moves_.resize(1);
  moves_[0].what.end = 1;
  moves_[0].bytes = 30'000;
  EXPECT_DOUBLE_EQ(judged(4e6).need_bytes_per_s, 30'000 / 0.1);
}

TEST_F(ahead, looks_at_what_this_epoch_has_left_and_at_the_next_epoch) {
  left_ = {1000, 0}; // it draws from nothing but what comes
  EXPECT_DOUBLE_EQ(judged(4e6).need_bytes_per_s, 10 * 40'000 / 0.1);
  left_ = {0, 1000}; // and here not before the next epoch
  EXPECT_DOUBLE_EQ(judged(4e6).need_bytes_per_s, 5 * 40'000 / 0.1);
}

TEST_F(ahead, is_judged_for_each_receiver) {
  moves_.push_back({{chunk_id{15}, 0, 100}, 1, 0, 1'000'000, 1});
  const auto all = judge_ahead(
      moves_, {set_, {1000, 1000}, left_, {10, 10}, 0.1, {1e9, 1e3}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_TRUE(all[0].ahead);
  EXPECT_FALSE(all[1].ahead);
  EXPECT_FALSE(all_ahead(all));
  EXPECT_TRUE(all_ahead({all[0]}));
  EXPECT_FALSE(all_ahead({})) << "there is nobody who need not wait";
}

TEST_F(ahead, says_why_in_numbers) {
  EXPECT_EQ(sentence(judged(4e6), "w2"),
            "owned before their bytes are there: w2's steps lack at most 2.0 "
            "MB/s of them, and its rows came at 4.0 MB/s lately");
  EXPECT_EQ(sentence(judged(1e6), "w2"),
            "the bytes come first: w2's steps lack at most 2.0 MB/s of them, "
            "and its rows came at 1.0 MB/s lately");
}

/// Two classes, each at one of two workers; a round is five chunks.
class ahead_balancer : public ::testing::Test {
protected:
  static constexpr uint64_t chunk_bytes = 100 * testing::row_bytes;

  ahead_balancer() {
    testing::set_builder set(2);
    for (int i = 0; i < 20; ++i) {
      set.add(0, {100, 0});
      set.add(1, {0, 100});
    }
    set_ = std::make_shared<ledger::manifest>(set.set);
    now_ = testing::placed(*set_);
    planner_ = std::make_unique<balancer>(
        balance_policy{.global_batch = 20,
                       .skew_tv = 0.05,
                       .rate_bytes_per_s = 10 * chunk_bytes},
        set_);
  }

  /// Each worker read rows at that rate, so often, for so long.
  balance_answer look(uint64_t bytes_per_s, size_t times, uint64_t ms = 1) {
    load_view view;
    view.generation = now_.generation;
    view.number = now_.number;
    view.changed = now_;
    view.steps_per_epoch = view.steps_left_in_epoch = 100;
    view.steps_left = 10'000;
    for (const ledger::share& one : now_.shares) {
      worker_load load;
      load.worker = one.worker;
      load.name = "w" + to_string(one.worker);
      load.rows_left = rows(one);
      load.costs.assign(20, {10, 10'000'000}); // 1 ms a row
      load.reads.assign(times, {bytes_per_s * ms / 1000, ms * 1'000'000});
      view.workers.push_back(std::move(load));
    }
    return planner_->observe(view);
  }
  nlohmann::ordered_json in_force(const balance_proposal& what) {
    now_ = moved_plan(now_, what.moves, next(now_.number), what.weights);
    load_view view;
    view.number = now_.number;
    view.changed = now_;
    view.last = transfer_end::effective;
    for (const ledger::share& one : now_.shares) {
      view.workers.emplace_back();
      view.workers.back().worker = one.worker;
      view.workers.back().name = "w" + to_string(one.worker);
    }
    planner_->observe(view);
    return explain_chunk(*planner_, what.moves.at(0).what.chunk);
  }

  std::shared_ptr<ledger::manifest> set_;
  ledger::plan now_;
  std::unique_ptr<balancer> planner_;
};

TEST_F(ahead_balancer, moves_everything_at_once_where_nothing_waits_for_bytes) {
  const balance_proposal what = look(1'000'000'000, 3).proposal;
  EXPECT_GT(what.moved_bytes, 10 * chunk_bytes);
  EXPECT_TRUE(all_ahead(what.receivers));
  EXPECT_EQ(what.receivers.size(), 2u);
  const auto told = in_force(what)["planned"];
  EXPECT_EQ(told["ahead"], true);
  EXPECT_EQ(told["reads_bytes_per_s"], 1e9);
  EXPECT_THAT(told["reason"].get<std::string>(),
              HasSubstr("owned before their bytes are there"));
}

TEST_F(ahead_balancer, copies_round_by_round_over_a_link_that_is_too_slow) {
  const balance_proposal what = look(1000, 3).proposal;
  EXPECT_LE(what.moved_bytes, 5 * chunk_bytes);
  ASSERT_FALSE(what.receivers.empty());
  EXPECT_FALSE(what.receivers[0].ahead);
  EXPECT_EQ(what.receivers[0].rate_bytes_per_s, 1000);
  EXPECT_EQ(in_force(what)["planned"]["ahead"], false);
}

TEST_F(ahead_balancer, waits_for_bytes_where_too_little_was_measured) {
  const balance_proposal what = look(1'000'000'000, 2).proposal;
  EXPECT_LE(what.moved_bytes, 5 * chunk_bytes);
  ASSERT_FALSE(what.receivers.empty());
  EXPECT_FALSE(what.receivers[0].ahead);
  EXPECT_EQ(what.receivers[0].rate_bytes_per_s, 0);
}

TEST_F(ahead_balancer, knows_the_rate_of_rows_that_came_all_at_once) {
  EXPECT_TRUE(all_ahead(look(1'000'000'000, 1, 100).proposal.receivers));
}

} // namespace
} // namespace ballast::balance
