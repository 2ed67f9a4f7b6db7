// Goal: a worker that fails before it trained, that is about to end, that has a
// bad name or belongs to another run costs the run nothing but itself. Method:
// the coordinator's core with played workers.
#include "runtime/base/run_mark.hpp"
#include "runtime/coordinator/status.hpp"
#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class newcomers : public ::testing::Test {
protected:
  /// Twenty steps, of which `w1` and `w2` have done the first two.
  void begin(bool supervised = false) {
    d.emplace(supervised);
    d->batch = 5;
    d->train({"w1", "w2"});
    step(1, 2);
  }
  void step(uint64_t from, uint64_t to) {
    const generation_state& members = *d->core.generation();
    progress_report report;
    report.generation = members.number;
    for (uint64_t step = from; step <= to; ++step)
      report.steps.push_back({step_number{step}, epoch_number{1},
                              members.current.number, 5, 2, step});
    for (worker_id who : d->core.generation()->workers) {
      report.worker = who;
      d->core.take(report, d->now);
    }
  }
  /// `name` joins, up to the order to load its share.
  worker_id invite(const std::string& name) {
    auto answer = d->join(name);
    EXPECT_TRUE(answer.accepted) << answer.refused.message;
    auto place =
        pick<balance::place_shares>(d->core.take(clock_tick{}, d->now));
    EXPECT_THAT(place, SizeIs(1));
    if (!place.empty())
      placed(place[0]);
    return answer.accepted->worker;
  }
  void placed(const balance::place_shares& what) {
    ledger::plan next =
        balance::repaired_plan(d->chunks(), 0.1, what.before, what.workers,
                               what.generation, what.number);
    d->core.take(
        shares_placed{next, std::vector<share_summary>(what.workers.size())},
        d->now);
  }
  actions fails(worker_id who, errc code = errc::unreachable) {
    worker_failed word;
    word.worker = who;
    word.generation = d->core.change() ? d->core.change()->number
                                       : d->core.generation()->number;
    word.code = code;
    word.message = "no route to the origin";
    return d->core.take(word, d->now);
  }
  std::string state_of(const std::string& name) {
    std::string out;
    for (const worker_status& one : status_of(d->core, d->now).workers)
      if (one.name == name)
        out = to_string(one.state);
    return out;
  }

  std::optional<driver> d;
};

TEST_F(newcomers, that_fail_to_load_cost_only_themselves) {
  begin();
  worker_id w3 = invite("w3");
  actions then = fails(w3);
  EXPECT_TRUE(d->core.active()) << d->core.reason();
  auto lost = told<events::worker_lost>(then);
  ASSERT_THAT(lost, SizeIs(1));
  EXPECT_EQ(lost[0].worker, "w3");
  EXPECT_EQ(describe(lost[0].cause), "unreachable: no route to the origin");
  auto out = pick<expel>(then);
  ASSERT_THAT(out, SizeIs(1));
  EXPECT_THAT(out[0].dismissed, HasSubstr("no route"));
  auto place = pick<balance::place_shares>(d->recover(step_number{2}));
  ASSERT_THAT(place, SizeIs(1));
  EXPECT_EQ(place[0].workers, d->workers);
}

TEST_F(newcomers, that_fail_are_not_taken_in_again_by_this_run) {
  begin();
  fails(invite("w3"));
  d->place(pick<balance::place_shares>(d->recover(step_number{2})).at(0));
  step(3, 3);
  d->dress = [](worker_hello& hello) { hello.not_for = "test-1"; };
  EXPECT_TRUE(d->join("w3").accepted);
  EXPECT_EQ(state_of("w3"), "dismissed");
  // Another one is, but not at once.
  d->dress = {};
  d->join("w4");
  EXPECT_THAT(
      pick<balance::place_shares>(d->core.take(clock_tick{}, d->now + 50ms)),
      IsEmpty());
  auto place =
      pick<balance::place_shares>(d->core.take(clock_tick{}, d->now + 100ms));
  ASSERT_THAT(place, SizeIs(1));
  ASSERT_THAT(place[0].workers, SizeIs(3));
  EXPECT_EQ(d->core.name_of(place[0].workers[2]), "w4");
}

TEST_F(newcomers, that_replace_others_and_fail_end_with_the_respawn_limit) {
  begin(true);
  d->core.take(process_ended{"w2", killed_by(9)}, d->now);
  std::vector<std::string> started;
  d->place(pick<balance::place_shares>(d->recover(step_number{2})).at(0));
  uint64_t done = 2;
  for (int round = 0; round < 12; ++round) {
    ++done;
    step(done, done);
    d->now += 6s;
    d->core.take(heartbeat{d->workers[0], {}, {}, {}}, d->now);
    for (const start_worker& one :
         pick<start_worker>(d->core.take(clock_tick{}, d->now)))
      started.push_back(one.name);
    if (started.size() <= size_t(round))
      break;
    fails(invite(started.back()));
    ASSERT_TRUE(d->core.active());
    d->core.take(process_ended{started.back(), exited_with(1)}, d->now);
    auto place = pick<balance::place_shares>(d->recover(step_number{done}));
    ASSERT_THAT(place, SizeIs(1));
    d->place(place[0]);
  }
  EXPECT_THAT(started, SizeIs(6)) << "the limit is 5 within a minute";
  EXPECT_TRUE(d->core.active());
}

// The steps that showed the job to be sound are undone; it is sound still.
TEST_F(newcomers, that_fail_after_the_run_went_back_cost_only_themselves) {
  begin();
  worker_id w3 = d->join("w3").accepted->worker;
  worker_id w4 = d->join("w4").accepted->worker;
  for (worker_id who : d->workers)
    d->core.take(connection_lost{who, killed_by(9)}, d->now);
  ASSERT_THAT(d->core.generation()->workers, SizeIs(2));
  d->assigned = d->core.take(
      shares_placed{
          d->first(
              {d->core.generation()->number, plan_number{9}, {w3, w4}, {}, {}}),
          std::vector<share_summary>(2)},
      d->now);
  fails(w3);
  EXPECT_TRUE(d->core.active()) << d->core.reason();
  EXPECT_EQ(state_of("w3"), "lost");
}

TEST_F(newcomers, do_not_hide_an_error_of_the_first_generation) {
  d.emplace();
  d->train({"w1", "w2"});
  fails(d->workers[1], errc::invalid_data);
  EXPECT_EQ(d->core.phase(), run_phase::failed);
}

TEST_F(newcomers, do_not_hide_an_error_of_a_worker_that_trained) {
  begin();
  fails(d->workers[1], errc::internal);
  EXPECT_EQ(d->core.phase(), run_phase::failed);
}

TEST_F(newcomers, whose_names_are_no_names_are_refused) {
  d.emplace();
  for (const char* name : {"../../../../evil", "a/b", "", ".hidden", "-x",
                           "caf\xe9", "a b", "line\nbreak"})
    EXPECT_EQ(d->join(name).refused.code, errc::usage) << name;
  EXPECT_EQ(d->join(std::string(65, 'a')).refused.code, errc::usage);
  EXPECT_TRUE(d->join(std::string(64, 'a')).accepted);
  EXPECT_TRUE(d->join("Node_7.rack-2").accepted);
  EXPECT_THAT(d->join("caf\xe9/x").refused.message,
              HasSubstr("the name 'caf?/x'"));
}

TEST_F(newcomers, of_a_run_that_is_led_elsewhere_keep_what_they_hold) {
  d.emplace();
  d->dress = [](worker_hello& hello) {
    hello.was = worker_id{1};
    hello.run = "test-1";
    hello.run_mark = run_mark("another token", "test-1");
  };
  EXPECT_EQ(d->join("w1").refused.code, errc::other_run) << "while idle";
  d->core.submit(small_job(1), "test-1", term{1});
  EXPECT_EQ(d->join("w1").refused.code, errc::other_run) << "of that name";
  d->dress = [](worker_hello& hello) {
    hello.was = worker_id{1};
    hello.run = "test-1";
    hello.run_mark = run_mark("t", "test-1");
  };
  EXPECT_TRUE(d->join("w1").accepted) << "of this very run";
}

TEST_F(newcomers, of_a_run_that_is_over_are_free_for_the_next) {
  d.emplace();
  d->train({"w1"});
  d->finish_all();
  d->core.take(saved_model{});
  d->dress = [](worker_hello& hello) {
    hello.was = worker_id{1};
    hello.run = "test-1";
    hello.run_mark = run_mark("t", "test-1");
  };
  d->core.take(connection_lost{worker_id{1}, closed}, d->now);
  EXPECT_TRUE(d->join("w1").accepted);
}

TEST_F(newcomers, that_are_about_to_end_take_no_new_work) {
  d.emplace();
  d->join("w1");
  d->join("w2");
  d->core.take(leave_announced{worker_id{2}});
  d->core.submit(small_job(1), "test-1", term{1});
  auto place = pick<balance::place_shares>(
      d->core.take(data_prepared{d->set()}, d->now));
  ASSERT_THAT(place, SizeIs(1));
  EXPECT_EQ(place[0].workers, std::vector<worker_id>{worker_id{1}});
  EXPECT_EQ(state_of("w2"), "draining");
  d->core.take(connection_lost{worker_id{2}, closed}, d->now);
  EXPECT_EQ(state_of("w2"), "left");
}

TEST_F(newcomers, age_since_their_last_word_also_once_they_are_lost) {
  begin();
  d->now = 10s;
  d->core.take(heartbeat{d->workers[0], {}, {}, {}}, d->now);
  d->core.take(heartbeat{d->workers[1], {}, {}, {}}, d->now);
  d->now = 11s;
  d->core.take(connection_lost{d->workers[1], killed_by(9)}, d->now);
  auto workers = status_of(d->core, 14s).workers;
  EXPECT_DOUBLE_EQ(workers[1].heartbeat_age.value().count(), 4.0);
  EXPECT_EQ(workers[1].state, worker_standing::lost);
}

TEST_F(newcomers, leave_a_reason_that_outlives_the_recovery) {
  // The reason of the recovery is that of the end: the one is gone by then.
  d.emplace();
  d->train({"w1"});
  d->core.take(heartbeat{d->workers[0], {}, {}, {}}, d->now);
  d->now = 700ms;
  d->core.take(clock_tick{}, d->now);
  EXPECT_EQ(d->core.phase(), run_phase::recovering);
  d->core.ask(stop_run{true});
  d->now = 1200ms;
  auto ends = pick<end_run>(d->core.take(clock_tick{}, d->now));
  ASSERT_THAT(ends, SizeIs(1));
  EXPECT_EQ(ends[0].reason, "stopped before the first step");
}

} // namespace
} // namespace ballast::coordinator
