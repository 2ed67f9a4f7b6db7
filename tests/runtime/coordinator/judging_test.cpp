/// Goal: the coordinator judges evaluations as its workers do: in the order of
/// the steps, of a state without those behind it, also after failures.
#include "runtime/coordinator/judging.hpp"

#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Two steps an epoch.
class judging : public ::testing::Test {
protected:
  judging() {
    d_.test_rows = 20;
    d_.more = [](job& what) {
      what.train.epochs = 10;
      what.stop.metric = "loss";
      what.stop.patience = 2;
      what.keep.best.metric = "loss";
    };
  }

  actions evaluated(uint64_t epoch, double loss) {
    evaluation_report out;
    out.worker = d_.workers[0];
    out.generation = d_.core.generation()->number;
    out.epoch = epoch_number{epoch};
    out.step = step_number{2 * epoch};
    out.loss = loss;
    return d_.core.take(out, d_.now);
  }
  judgement now() const { return judged_now(d_.core); }

  driver d_;
};

TEST_F(judging, tells_which_evaluation_is_the_best_and_what_ends_the_run) {
  d_.train({"w1", "w2"});
  d_.apply_steps(6);
  EXPECT_TRUE(told<events::evaluated>(evaluated(1, 3)).at(0).best);
  EXPECT_FALSE(told<events::evaluated>(evaluated(2, 4)).at(0).best);
  const actions last = evaluated(3, 3);
  EXPECT_FALSE(told<events::evaluated>(last).at(0).best);
  const auto early = told<events::ends_early>(last);
  ASSERT_THAT(early, SizeIs(1));
  EXPECT_EQ(early[0].step, step_number{6});
  EXPECT_THAT(early[0].reason, HasSubstr("no better loss in 2 evaluations"));
  EXPECT_EQ(now().keep.step, step_number{2});
}

TEST_F(judging, ends_the_run_as_done_with_the_best_model) {
  d_.train({"w1", "w2"});
  d_.apply_steps(6);
  for (uint64_t epoch : {1, 2, 3})
    evaluated(epoch, double(epoch));
  actions then;
  for (worker_id who : d_.workers)
    then = d_.core.take(worker_finished{who, generation{1}, step_number{6},
                                        false, "last", "best"});
  const auto fetch = pick<fetch_model>(then);
  ASSERT_THAT(fetch, SizeIs(1));
  EXPECT_EQ(fetch[0].best, step_number{2});
  EXPECT_EQ(fetch[0].best_digest, "best");
  EXPECT_EQ(fetch[0].weights_digest, "last");
  const auto end =
      pick<end_run>(d_.core.take(saved_model{{}, "sha", step_number{2}, {}}));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_EQ(end[0].state, "done");
  EXPECT_EQ(end[0].exit_code, 0);
  EXPECT_THAT(end[0].reason, HasSubstr("no better loss"));
  EXPECT_EQ(d_.core.run().model.step(), step_number{2});
}

TEST_F(judging, fails_where_workers_end_and_no_evaluation_says_why) {
  d_.train({"w1"});
  d_.apply_steps(4);
  evaluated(1, 2);
  evaluated(2, 1);
  const auto end = pick<end_run>(d_.core.take(worker_finished{
      d_.workers[0], generation{1}, step_number{4}, false, ""}));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_EQ(end[0].state, "failed");
}

TEST_F(judging, refuses_workers_that_kept_other_parameters) {
  d_.train({"w1", "w2"});
  d_.apply_steps(6);
  for (uint64_t epoch : {1, 2, 3})
    evaluated(epoch, double(epoch));
  actions then;
  for (worker_id who : d_.workers)
    then = d_.core.take(worker_finished{who, generation{1}, step_number{6},
                                        false, "last", "of " + to_string(who)});
  ASSERT_THAT(pick<end_run>(then), SizeIs(1));
  EXPECT_EQ(pick<end_run>(then)[0].state, "failed");
}

/// A report of an evaluation overtakes those of the steps before it.
TEST_F(judging, goes_back_to_a_point_without_the_evaluations_behind_it) {
  d_.checkpoint.every_steps = 1;
  d_.train({"w1"});
  d_.apply_steps(3);
  evaluated(1, 3);
  EXPECT_EQ(now().keep.step, step_number{2});
  EXPECT_EQ(d_.core.run().steps.here().tally.judged.keep.step, step_number{2});
  evaluated(2, 1); // of step 4, which nobody reported yet
  EXPECT_EQ(now().keep.step, step_number{2});
  EXPECT_EQ(judged_at(d_.core, step_number{4}).keep.step, step_number{4});
  EXPECT_EQ(d_.core.run().steps.here().tally.judged.keep.step, step_number{2});
  d_.apply_steps(4);
  EXPECT_EQ(now().keep.step, step_number{4});
  // The state after step 4 may be copied before it is evaluated.
  EXPECT_EQ(d_.core.run().steps.here().tally.judged.keep.step, step_number{2});
  d_.apply_steps(5);
  EXPECT_EQ(d_.core.run().steps.here().tally.judged.keep.step, step_number{4});
}

/// And may come after those of later steps, whose states know of it.
TEST_F(judging, saves_no_state_that_knows_of_an_evaluation_that_is_missing) {
  d_.checkpoint.every_steps = 3;
  d_.train({"w1"});
  d_.apply_steps(3);
  EXPECT_THAT(pick<fetch_checkpoint>(d_.core.take(
                  state_copied{d_.workers[0], generation{1}, step_number{3}})),
              IsEmpty());
  const auto fetch = pick<fetch_checkpoint>(evaluated(1, 3));
  ASSERT_THAT(fetch, SizeIs(1));
  d_.core.take(checkpoint_written{fetch[0].after, "step-3", {}}, d_.now);
  EXPECT_EQ(d_.core.run().copies.newest().tally.judged.keep.step,
            step_number{2});
  EXPECT_EQ(d_.core.run().steps.here().tally.judged.keep.step, step_number{2});
}

TEST_F(judging, tells_a_new_generation_what_was_found_before_it) {
  d_.train({"w1", "w2"});
  EXPECT_EQ(pick<send_connect>(d_.loaded).at(0).what.judged, judgement{});
  d_.apply_steps(2);
  evaluated(1, 3);
  d_.core.take(connection_lost{d_.workers[1], closed}, d_.now);
  evaluation_report missed;
  missed.epoch = epoch_number{2};
  missed.step = step_number{4};
  missed.loss = 4;
  std::vector<ledger::step_record> later;
  for (uint64_t step : {3, 4})
    later.push_back(
        {step_number{step}, epoch_number{2}, plan_number{1}, 50, 2, 9 * step});
  const actions placing = d_.recover(step_number{4}, later, {missed});
  d_.place(pick<balance::place_shares>(placing).at(0));
  const auto orders = pick<send_connect>(d_.loaded);
  ASSERT_THAT(orders, SizeIs(1));
  const judgement& told = orders[0].what.judged;
  EXPECT_EQ(told.judged, step_number{4});
  EXPECT_EQ(told.since, 1U);
  EXPECT_EQ(told.keep.step, step_number{2});
  EXPECT_EQ(orders[0].what.evaluate, step_number{});
}

TEST_F(judging, stops_a_run_whose_time_is_over) {
  d_.more = [](job& what) {
    what.train.epochs = 1'000'000;
    what.stop.max_minutes = 1e-9; // 60 ns
  };
  d_.train({"w1"});
  d_.apply_steps(3); // of 9 ns each
  EXPECT_THAT(pick<send_command>(d_.core.take(clock_tick{}, d_.now)),
              IsEmpty());
  d_.apply_steps(9);
  const actions then = d_.core.take(clock_tick{}, d_.now);
  ASSERT_THAT(pick<send_command>(then), SizeIs(1));
  EXPECT_EQ(pick<send_command>(then)[0].what.kind, command_kind::stop);
  EXPECT_THAT(told<events::ends_early>(then), SizeIs(1));
  EXPECT_THAT(pick<send_command>(d_.core.take(clock_tick{}, d_.now)),
              IsEmpty());
  EXPECT_THAT(why_stopped(d_.core), HasSubstr("stop.max_minutes"));
}

TEST_F(judging, refuses_a_set_without_test_rows) {
  d_.join("w1");
  job what = small_job(1);
  d_.more(what);
  d_.core.submit(what, "test-1", term{1});
  d_.test_rows = 0;
  const auto end = pick<end_run>(d_.core.take(data_prepared{d_.set()}, d_.now));
  ASSERT_THAT(end, SizeIs(1));
  EXPECT_EQ(end[0].exit_code, 2);
}

} // namespace
} // namespace ballast::coordinator
