// Goal: a request is either refused at once, with the reason, or holds until it
// took effect or another one took it back, whatever the run is at. Method: a
// table of every request in every phase, then what follows from each.
#include "coordinator_driver.hpp"

#include "runtime/coordinator/status.hpp"

#include <gmock/gmock.h>
#include <map>
#include <memory>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using phase_name = std::string;

std::unique_ptr<driver> in_phase(const phase_name& name) {
  auto d = std::make_unique<driver>(true);
  if (name == "idle" || name == "preparing" || name == "waiting") {
    d->join("w1");
    if (name == "idle")
      return d;
    d->core.submit(small_job(2), "test-1", term{1});
    if (name == "waiting")
      d->core.take(data_prepared{d->set()}, d->now);
    return d;
  }
  if (name == "loading") {
    d->join("w1");
    d->join("w2");
    d->core.submit(small_job(2), "test-1", term{1});
    auto place = pick<balance::place_shares>(
        d->core.take(data_prepared{d->set()}, d->now));
    d->workers = place.at(0).workers;
    d->core.take(shares_placed{d->first(place[0]),
                               {{d->workers[0], 0, 0}, {d->workers[1], 0, 0}}},
                 d->now);
    return d;
  }
  if (name == "joining")
    d->batch = 10; // many steps: a newcomer is worth it
  d->train({"w1", "w2"});
  if (name == "joining") {
    d->join("w3");
    EXPECT_THAT(pick<balance::place_shares>(d->core.take(clock_tick{}, d->now)),
                SizeIs(1));
  } else if (name == "paused") {
    d->core.ask(pause_request{});
    for (worker_id who : d->workers)
      d->core.take(worker_paused{who, generation{1}, step_number{0}}, d->now);
  } else if (name == "recovering") {
    d->core.take(connection_lost{d->workers[1], closed}, d->now);
  } else if (name == "finishing" || name == "done") {
    d->finish_all();
    if (name == "done")
      d->core.take(saved_model{});
  }
  return d;
}

std::string answer_to(const std::string& request, driver& d) {
  failure refused;
  if (request == "pause")
    refused = d.core.ask(pause_request{}).refused;
  else if (request == "resume")
    refused = d.core.ask(resume_request{}).refused;
  else if (request == "stop")
    refused = d.core.ask(stop_run{false}).refused;
  else if (request == "checkpoint")
    refused = d.core.ask(checkpoint_request{}).refused;
  else if (request == "scale")
    refused = d.core.ask(scale_request{2}).refused;
  else if (request == "drain")
    refused = d.core.ask(drain_request{"w1"}).refused;
  else if (request == "evict")
    refused = d.core.ask(evict_request{"w1"}, d.now).refused;
  else
    refused = d.core.ask(balance_request{false, {}}).refused;
  return refused ? refused.message : "ok";
}

TEST(requests, are_answered_in_every_phase) {
  const std::vector<std::string> requests{"pause",      "resume",     "stop",
                                          "checkpoint", "scale",      "drain",
                                          "evict",      "set_balance"};
  // "-": refused, since there is nothing that it could be about.
  const std::map<phase_name, std::vector<std::string>> table{
      {"idle", {"-", "-", "-", "-", "-", "-", "ok", "-"}},
      {"preparing", {"ok", "-", "ok", "-", "-", "ok", "ok", "ok"}},
      {"waiting", {"ok", "-", "ok", "-", "-", "ok", "ok", "ok"}},
      {"loading", {"ok", "-", "ok", "ok", "ok", "ok", "ok", "ok"}},
      {"training", {"ok", "-", "ok", "ok", "ok", "ok", "ok", "ok"}},
      {"joining", {"ok", "-", "ok", "ok", "ok", "ok", "ok", "ok"}},
      {"paused", {"ok", "ok", "ok", "ok", "ok", "ok", "ok", "ok"}},
      {"recovering", {"ok", "-", "ok", "ok", "ok", "ok", "ok", "ok"}},
      {"finishing", {"-", "-", "ok", "-", "-", "-", "ok", "ok"}},
      {"done", {"-", "-", "-", "-", "-", "-", "ok", "-"}},
  };
  for (const auto& [phase, answers] : table)
    for (size_t i = 0; i < requests.size(); ++i) {
      auto d = in_phase(phase);
      std::string told = answer_to(requests[i], *d);
      if (answers[i] == "ok")
        EXPECT_EQ(told, "ok") << requests[i] << " while " << phase;
      else
        EXPECT_THAT(told, ::testing::AnyOf(HasSubstr("nothing to "),
                                           HasSubstr("no run trains here")))
            << requests[i] << " while " << phase;
    }
}

size_t commands(const actions& list, command_kind kind) {
  size_t out = 0;
  for (const send_command& one : pick<send_command>(list))
    out += one.what.kind == kind ? 1 : 0;
  return out;
}

TEST(requests, a_note_is_told_and_is_a_line) {
  auto d = in_phase("training");
  auto told = d->core.ask(note_request{"new switch"});
  EXPECT_FALSE(told.refused);
  ASSERT_EQ(pick<write_event>(told.then).size(), 1u);
  EXPECT_EQ(std::get<events::noted>(pick<write_event>(told.then)[0].what).text,
            "new switch");
  EXPECT_FALSE(d->core.ask(note_request{std::string(500, 'a')}).refused);
  for (const std::string& text : {std::string(), std::string(501, 'a')}) {
    const failure refused = d->core.ask(note_request{text}).refused;
    EXPECT_EQ(refused.code, errc::bad_request);
    EXPECT_EQ(refused.pointer, "/text");
  }
}

TEST(requests, a_worker_that_is_sought_where_none_is_here_is_told_so) {
  played_coordinator idle({});
  EXPECT_EQ(idle.ask(drain_request{"w1"}).refused.message,
            "no worker named w1 is here; there is none");
}

TEST(requests, a_pause_before_the_first_step_takes_effect_with_it) {
  for (const char* phase : {"preparing", "waiting", "loading"}) {
    auto d = in_phase(phase);
    EXPECT_FALSE(d->core.ask(pause_request{}).refused) << phase;
    actions then;
    if (phase == std::string("preparing")) {
      d->join("w2");
      then = d->core.take(data_prepared{d->set()}, d->now);
    } else if (phase == std::string("waiting")) {
      then = d->join("w2").then;
    }
    if (auto place = pick<balance::place_shares>(then); !place.empty()) {
      d->workers = place[0].workers;
      d->place(place[0]);
    } else {
      d->join_ranks();
    }
    EXPECT_EQ(commands(d->begun, command_kind::pause), 2u) << phase;
  }
}

/// The next generation loads, connects and is in force behind `base`.
actions open_change(driver& d, step_number base) {
  auto place = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
  if (!place.empty())
    d.core.take(
        shares_placed{balance::repaired_plan(
                          d.chunks(), 0.1, place[0].before, place[0].workers,
                          place[0].generation, place[0].number),
                      std::vector<share_summary>(place[0].workers.size())},
        d.now);
  membership_change change = *d.core.change();
  for (worker_id who : change.workers)
    d.core.take(worker_loaded{who, change.number, "c", "d"}, d.now);
  actions out;
  for (worker_id who : change.workers)
    out = d.core.take(worker_ready{who, change.number, base}, d.now);
  d.workers = change.workers;
  return out;
}

TEST(requests, a_pause_during_a_join_takes_effect_behind_it) {
  driver d;
  d.batch = 10;
  d.train({"w1", "w2"});
  d.apply_steps(1);
  d.join("w3");
  auto place = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
  ASSERT_THAT(place, SizeIs(1));
  d.core.take(
      shares_placed{balance::repaired_plan(
                        d.chunks(), 0.1, place[0].before, place[0].workers,
                        place[0].generation, place[0].number),
                    std::vector<share_summary>(3)},
      d.now);
  EXPECT_FALSE(d.core.ask(pause_request{}).refused);
  actions ready = open_change(d, step_number{1});
  EXPECT_EQ(commands(ready, command_kind::pause), 3u)
      << "the newcomer knew of none";
  for (worker_id who : d.workers)
    d.core.take(worker_paused{who, d.core.generation()->number, step_number{1}},
                d.now);
  EXPECT_EQ(d.core.phase(), run_phase::paused);
  EXPECT_EQ(commands(d.core.ask(resume_request{}).then, command_kind::resume),
            3u);
}

TEST(requests, a_pause_that_is_taken_back_at_once_does_not_last) {
  driver d;
  d.train({"w1", "w2"});
  d.core.ask(pause_request{});
  auto back = d.core.ask(resume_request{});
  EXPECT_FALSE(back.refused);
  EXPECT_EQ(commands(back.then, command_kind::unpause), 2u);
  // They had agreed on it already.
  d.core.take(worker_paused{d.workers[0], generation{1}, step_number{3}},
              d.now);
  actions all = d.core.take(
      worker_paused{d.workers[1], generation{1}, step_number{3}}, d.now);
  EXPECT_EQ(commands(all, command_kind::resume), 2u);
  EXPECT_EQ(d.core.phase(), run_phase::training);
  EXPECT_THAT(d.core.ask(resume_request{}).refused.message,
              HasSubstr("nothing to resume"));
}

TEST(requests, a_crash_keeps_a_pause_and_the_end_of_one) {
  for (bool resumed : {false, true}) {
    driver d;
    d.train({"w1", "w2", "w3"});
    d.apply_steps(1);
    d.core.ask(pause_request{});
    d.core.take(connection_lost{d.workers[2], closed}, d.now);
    if (resumed) {
      EXPECT_FALSE(d.core.ask(resume_request{}).refused);
    }
    auto place = pick<balance::place_shares>(d.recover(step_number{1}));
    ASSERT_THAT(place, SizeIs(1));
    auto connects = pick<send_connect>(d.place(place[0]));
    ASSERT_THAT(connects, SizeIs(2));
    EXPECT_EQ(connects[0].what.paused, !resumed);
  }
}

TEST(requests, a_copy_is_asked_for_again_after_rank_zero_died) {
  driver d;
  d.train({"w1", "w2"});
  EXPECT_EQ(
      commands(d.core.ask(checkpoint_request{}).then, command_kind::checkpoint),
      1u);
  d.apply_steps(1);
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  EXPECT_FALSE(d.core.ask(checkpoint_request{}).refused);
  auto place = pick<balance::place_shares>(d.recover(step_number{1}));
  d.place(place.at(0));
  auto told = pick<send_command>(d.begun);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what.kind, command_kind::checkpoint);
  EXPECT_EQ(told[0].to, d.workers[1]);
}

TEST(requests, a_copy_that_could_not_be_fetched_is_made_again) {
  driver d;
  d.train({"w1", "w2"});
  d.apply_steps(1);
  d.core.ask(checkpoint_request{});
  auto fetch = pick<fetch_checkpoint>(
      d.core.take(state_copied{d.workers[0], generation{1}, step_number{1}}));
  ASSERT_THAT(fetch, SizeIs(1));
  d.core.take(
      checkpoint_written{fetch[0].after, "", {errc::unreachable, "frozen", {}}},
      d.now);
  EXPECT_EQ(
      commands(d.core.take(clock_tick{}, d.now), command_kind::checkpoint), 0u);
  EXPECT_EQ(
      commands(d.core.take(clock_tick{}, d.now + 1s), command_kind::checkpoint),
      1u);
  fetch = pick<fetch_checkpoint>(
      d.core.take(state_copied{d.workers[0], generation{1}, step_number{1}}));
  ASSERT_THAT(fetch, SizeIs(1));
  d.core.take(checkpoint_written{fetch[0].after, "step-1", {}}, d.now);
  EXPECT_EQ(
      commands(d.core.take(clock_tick{}, d.now + 9s), command_kind::checkpoint),
      0u);
}

// A busy worker told of step 2 before it told of the copy of step 1.
TEST(requests, a_copy_that_later_steps_overtook_is_made_again) {
  driver d;
  d.train({"w1", "w2"});
  d.core.ask(checkpoint_request{});
  d.apply_steps(2);
  actions late =
      d.core.take(state_copied{d.workers[0], generation{1}, step_number{1}});
  EXPECT_THAT(pick<fetch_checkpoint>(late), IsEmpty());
  EXPECT_EQ(commands(late, command_kind::checkpoint), 1u);
}

TEST(requests, who_has_no_part_in_the_run_may_leave_at_once) {
  auto d = in_phase("waiting");
  auto told = pick<send_command>(d->core.ask(drain_request{"w1"}).then);
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told[0].what.kind, command_kind::leave);
  EXPECT_THAT(d->core.ask(drain_request{"w1"}).refused.message,
              HasSubstr("no worker named"));
}

// A periodic copy was on its way when the last one was made.
TEST(requests, a_stop_keeps_the_state_after_its_last_step) {
  driver d;
  d.train({"w1", "w2"});
  d.apply_steps(1);
  auto periodic = pick<fetch_checkpoint>(
      d.core.take(state_copied{d.workers[0], generation{1}, step_number{1}}));
  ASSERT_THAT(periodic, SizeIs(1));
  d.core.ask(stop_run{false});
  d.core.take(state_copied{d.workers[0], generation{1}, step_number{2}});
  actions all = d.finish_all(true);
  EXPECT_THAT(pick<fetch_checkpoint>(all), IsEmpty()) << "one at a time";
  EXPECT_THAT(pick<fetch_model>(all), IsEmpty());
  actions next = d.core.take(
      checkpoint_written{*d.core.run().copies.on_its_way(), "step-1", {}},
      d.now);
  auto last = pick<fetch_checkpoint>(next);
  ASSERT_THAT(last, SizeIs(1));
  EXPECT_EQ(last[0].after.step, step_number{2});
  EXPECT_TRUE(last[0].requested);
  EXPECT_THAT(pick<fetch_model>(next), IsEmpty());
  next = d.core.take(
      checkpoint_written{*d.core.run().copies.on_its_way(), "step-2", {}},
      d.now);
  EXPECT_THAT(pick<fetch_model>(next), SizeIs(1));
  EXPECT_EQ(d.core.run().copies.points().back().checkpoint, "step-2");
}

/// Two steps are committed, the state after `kept` of them is on the disk.
void train_two(driver& d, uint64_t kept) {
  d.train({"w1"});
  d.apply_steps(kept);
  if (kept > 0) {
    d.core.take(state_copied{d.workers[0], generation{1}, step_number{kept}});
    d.core.take(
        checkpoint_written{*d.core.run().copies.on_its_way(), "the file", {}},
        d.now);
  }
  d.apply_steps(2);
}

TEST(requests, a_stop_without_holders_writes_the_model_of_the_checkpoint) {
  for (bool before : {true, false}) {
    driver d;
    train_two(d, 1);
    actions then;
    if (before)
      d.core.ask(stop_run{false});
    then = d.core.take(connection_lost{d.workers[0], closed}, d.now);
    if (!before)
      then = d.core.ask(stop_run{false}).then;
    auto model = pick<publish_model>(then);
    ASSERT_THAT(model, SizeIs(1)) << before;
    EXPECT_EQ(model[0].checkpoint, "the file");
    EXPECT_EQ(d.core.phase(), run_phase::finishing);
    auto over =
        pick<end_run>(d.core.take(saved_model{{}, "sha", step_number{1}, {}}));
    ASSERT_THAT(over, SizeIs(1));
    EXPECT_EQ(over[0].state, "stopped");
    EXPECT_EQ(over[0].exit_code, 0);
    EXPECT_THAT(over[0].reason,
                HasSubstr("the model is that of step 1, from its checkpoint"));
    EXPECT_EQ(d.core.run().model.sha256(), "sha");
    EXPECT_EQ(d.core.run().model.step(), step_number{1});
  }
}

TEST(requests, a_stop_says_that_steps_are_undone_that_nothing_holds) {
  driver d;
  train_two(d, 0);
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  auto over = pick<end_run>(d.core.ask(stop_run{false}).then);
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_EQ(over[0].reason, "stopped; the steps up to 2 are undone: no "
                            "checkpoint holds any of them");
}

TEST(requests, a_stop_before_the_first_step_says_so) {
  auto d = in_phase("waiting");
  auto over = pick<end_run>(d->core.ask(stop_run{false}).then);
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_EQ(over[0].reason, "stopped before the first step");
}

TEST(requests, a_damaged_checkpoint_is_no_stopped_run) {
  driver d;
  train_two(d, 1);
  d.core.ask(stop_run{true});
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  auto over = pick<end_run>(d.core.take(
      saved_model{{errc::invalid_data, "the file is torn", {}}, {}, {}, {}}));
  ASSERT_THAT(over, SizeIs(1));
  EXPECT_EQ(over[0].state, "failed");
  EXPECT_THAT(over[0].reason, HasSubstr("the file is torn"));
}

// The step is refused, and then every worker dies.
TEST(requests, a_refused_step_that_nobody_is_left_of_is_forgotten) {
  driver d;
  train_two(d, 1);
  worker_failed bad;
  bad.worker = d.workers[0];
  bad.generation = generation{1};
  bad.code = errc::non_finite_loss;
  bad.step = step_number{4};
  d.core.take(bad, d.now);
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  EXPECT_THAT(pick<end_run>(d.core.take(clock_tick{}, d.now + 6s)), IsEmpty());
  EXPECT_EQ(d.core.phase(), run_phase::waiting);
  EXPECT_EQ(status_of(d.core, d.now).state, run_phase::waiting);
}

} // namespace
} // namespace ballast::coordinator
