// Goal: silence costs nobody the model that may still be there: cut off from
// all workers the coordinator decides nothing, and its own standing still is
// not theirs. Method: a driven core and its clock.
#include "coordinator_driver.hpp"

#include "runtime/coordinator/status.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class silence : public ::testing::Test {
protected:
  void train(std::vector<std::string> names) {
    d_.now = 1s;
    d_.batch = 10;
    d_.train(std::move(names));
    d_.apply_steps(1);
    for (worker_id who : d_.workers)
      d_.core.take(heartbeat{who, generation{1}}, d_.now);
  }

  actions answer(worker_id who, instant now) {
    return d_.core.take(
        final_ack{who, generation{1}, true, step_number{1}, {}, {}}, now);
  }

  driver d_;
};

TEST_F(silence, of_all_excludes_nobody_and_says_so_once) {
  train({"w1", "w2"});
  EXPECT_THAT(pick<send_fence>(d_.core.take(clock_tick{}, 1700ms)), SizeIs(2));
  actions late = d_.core.take(clock_tick{}, 2200ms);
  EXPECT_THAT(pick<expel>(late), IsEmpty());
  EXPECT_THAT(pick<send_fence>(late), SizeIs(2)) << "they are asked again";
  auto waiting = told<events::waiting>(late);
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting[0].reason, "no worker that holds the model of step "
                               "1 answers: waits for w1, w2");
  EXPECT_EQ(status_of(d_.core, 2200ms).run.value().waits, waiting[0].reason);
  EXPECT_THAT(told<events::waiting>(d_.core.take(clock_tick{}, 2700ms)),
              IsEmpty());
}

TEST_F(silence, ends_for_all_with_the_first_answer) {
  train({"w1", "w2"});
  d_.core.take(clock_tick{}, 1700ms);
  d_.core.take(clock_tick{}, 9s);
  EXPECT_THAT(pick<balance::place_shares>(answer(d_.workers[0], 10s)),
              IsEmpty());
  EXPECT_THAT(pick<expel>(d_.core.take(clock_tick{}, 10300ms)), IsEmpty())
      << "the other one has the usual time";
  actions over = d_.core.take(clock_tick{}, 10500ms);
  EXPECT_THAT(pick<expel>(over), SizeIs(1));
  EXPECT_THAT(pick<undo_steps>(over), IsEmpty());
  auto place = pick<balance::place_shares>(over);
  ASSERT_THAT(place, SizeIs(1));
  EXPECT_EQ(place[0].workers, std::vector{d_.workers[0]});
  EXPECT_EQ(status_of(d_.core, 10500ms).run.value().waits, "");
}

// SIGSTOP for a second and a half.
TEST_F(silence, of_the_only_worker_undoes_nothing) {
  train({"w1"});
  d_.core.take(clock_tick{}, 1700ms);
  d_.core.take(clock_tick{}, 2200ms);
  actions back = answer(d_.workers[0], 2500ms);
  EXPECT_THAT(pick<balance::place_shares>(back), SizeIs(1));
  EXPECT_THAT(pick<undo_steps>(back), IsEmpty());
}

TEST_F(silence, of_those_that_hold_the_model_is_not_ended_by_a_newcomer) {
  train({"w1"});
  d_.now = 1600ms;
  worker_id joiner = d_.join("w2").accepted->worker;
  ASSERT_THAT(pick<balance::place_shares>(d_.core.take(clock_tick{}, d_.now)),
              SizeIs(1));
  EXPECT_THAT(pick<send_fence>(d_.core.take(clock_tick{}, 1700ms)), SizeIs(2));
  d_.core.take(final_ack{joiner, d_.core.fence()->level(), false, {}, {}, {}},
               1750ms);
  EXPECT_THAT(pick<expel>(d_.core.take(clock_tick{}, 2200ms)), IsEmpty());
}

TEST_F(silence, that_outlasts_the_grace_goes_back) {
  train({"w1", "w2"});
  d_.core.take(clock_tick{}, 1700ms);
  EXPECT_THAT(pick<expel>(d_.core.take(clock_tick{}, 31s)), IsEmpty());
  actions over = d_.core.take(clock_tick{}, 32s);
  EXPECT_THAT(pick<expel>(over), SizeIs(2));
  EXPECT_THAT(pick<undo_steps>(over), SizeIs(1));
}

TEST_F(silence, before_the_first_step_does_not_hold_up_a_stop) {
  d_.now = 1s;
  d_.train({"w1"});
  d_.core.take(heartbeat{d_.workers[0], generation{1}}, d_.now);
  d_.core.take(clock_tick{}, 1700ms);
  EXPECT_EQ(d_.core.phase(), run_phase::recovering);
  d_.core.ask(stop_run{true});
  auto over = pick<end_run>(d_.core.take(clock_tick{}, 2200ms));
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_EQ(over[0].reason, "stopped before the first step");
}

// What the run waits for ends with the recovery that it is the reason of.
TEST_F(silence, is_told_as_the_reason_of_a_stop_that_finds_all_undone) {
  d_.now = 1s;
  d_.train({"w1"});
  d_.apply_steps(1);
  d_.core.take(connection_lost{d_.workers[0], closed}, d_.now);
  auto again = pick<balance::place_shares>(d_.join("w2").then);
  ASSERT_THAT(again, SizeIs(1));
  d_.place(again[0]);
  d_.core.take(heartbeat{again[0].workers[0], again[0].generation}, d_.now);
  d_.core.take(clock_tick{}, 1700ms);
  EXPECT_EQ(d_.core.phase(), run_phase::recovering);
  d_.core.ask(stop_run{true});
  auto over = pick<end_run>(d_.core.take(clock_tick{}, 2200ms));
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_EQ(over[0].reason,
            "stopped; worker w2 lost: no heartbeat for 1200 ms and no answer "
            "to the fence; the steps up to 1 are undone: no checkpoint holds "
            "any of them");
}

TEST_F(silence, at_the_end_leaves_the_model_where_it_is) {
  d_.now = 1s;
  d_.train({"w1"});
  d_.finish_all();
  d_.core.take(heartbeat{d_.workers[0], generation{1}}, d_.now);
  EXPECT_THAT(pick<expel>(d_.core.take(clock_tick{}, 5s)), IsEmpty());
  EXPECT_THAT(pick<expel>(d_.core.take(clock_tick{}, 32s)), SizeIs(1));
}

TEST(own_freeze, is_not_the_silence_of_others) {
  driver d(false, 50ms);
  d.train({"w1", "w2"});
  d.apply_steps(1);
  instant now = 0ms;
  for (; now < 500ms; now += 50ms) {
    for (worker_id who : d.workers)
      d.core.take(heartbeat{who, generation{1}}, now);
    d.core.take(clock_tick{}, now);
  }
  now += 5s; // this process stood still
  EXPECT_THAT(pick<send_fence>(d.core.take(clock_tick{}, now)), IsEmpty());
  for (int i = 0; i < 10; ++i)
    EXPECT_THAT(pick<send_fence>(d.core.take(clock_tick{}, now += 50ms)),
                IsEmpty());
  std::vector<send_fence> fences;
  for (int i = 0; i < 4; ++i)
    for (const send_fence& one :
         pick<send_fence>(d.core.take(clock_tick{}, now += 50ms)))
      fences.push_back(one);
  EXPECT_THAT(fences, SizeIs(2)) << "from then on theirs counts";
}

TEST(own_freeze, lengthens_the_time_to_answer_a_fence) {
  driver d(false, 50ms);
  d.train({"w1", "w2", "w3"});
  d.apply_steps(1);
  d.core.take(clock_tick{}, 0ms);
  d.core.take(connection_lost{d.workers[0], closed}, 10ms);
  d.core.take(
      final_ack{d.workers[1], generation{1}, true, step_number{1}, {}, {}},
      20ms);
  EXPECT_THAT(pick<expel>(d.core.take(clock_tick{}, 3s)), IsEmpty());
  actions late;
  for (instant now = 3050ms; now < 3700ms; now += 50ms)
    for (const expel& one : pick<expel>(d.core.take(clock_tick{}, now)))
      late.push_back(one);
  EXPECT_THAT(late, SizeIs(1));
}

// Their heartbeats go on, and no socket breaks: a kernel of NCCL spins.
TEST(reduction, in_which_everybody_waits_is_given_up_with_its_generation) {
  driver d(false, 50ms);
  d.train({"w1", "w2"});
  d.apply_steps(1);
  std::vector<send_fence> fences;
  instant now = 0ms;
  for (; now <= 61s && fences.empty(); now += 200ms) {
    for (worker_id who : d.workers)
      d.core.take(
          heartbeat{who, generation{1}, step_number{2}, worker_phase::reduce},
          now);
    fences = pick<send_fence>(d.core.take(clock_tick{}, now));
  }
  ASSERT_THAT(fences, SizeIs(2));
  EXPECT_GE(now, 60s);
  const coordinator_parts& parts = d.core;
  ASSERT_NE(parts.members.recovery(), nullptr);
  EXPECT_EQ(describe(parts.members.recovery()->reason),
            "w1, w2: all-reduce failed: all of them are in that of step 2 for "
            "60 s, and nothing comes");
}

} // namespace
} // namespace ballast::coordinator
