// Goal: the coordinator's decisions, event by event, without actors. Method:
// a driver that plays shard manager and workers.
#include "coordinator_driver.hpp"

#include "runtime/coordinator/status.hpp"

#include <gtest/gtest.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;

TEST(coordinator_core, journals_generation_and_plan_before_it_tells_anybody) {
  driver d;
  d.train({"w1", "w2"});
  ASSERT_GE(d.assigned.size(), 4u);
  EXPECT_TRUE(std::holds_alternative<journal_change>(d.assigned[0]));
  EXPECT_EQ(pick<send_assignment>(d.assigned).size(), 2u);
}

TEST(coordinator_core, ranks_workers_by_name_whoever_joined_first) {
  driver d;
  d.train({"w10", "w2", "w1"});
  std::vector<std::string> names;
  for (worker_id who : d.workers)
    names.push_back(d.core.name_of(who));
  EXPECT_EQ(names, (std::vector<std::string>{"w1", "w2", "w10"}));
}

TEST(coordinator_core, connects_the_ranks_when_the_last_one_has_loaded) {
  driver d;
  auto connects = pick<send_connect>(d.train({"w1", "w2"}));
  ASSERT_EQ(connects.size(), 2u);
  EXPECT_EQ(connects[0].what.addresses, (std::vector<std::string>{"c1", "c2"}));
  EXPECT_EQ(d.core.phase(), run_phase::training);
}

TEST(coordinator_core, waits_for_workers_and_starts_when_the_last_one_joins) {
  driver d;
  d.join("w1");
  d.core.submit(small_job(2), "test-1", term{1});
  EXPECT_TRUE(
      pick<balance::place_shares>(d.core.take(data_prepared{d.set()}, d.now))
          .empty());
  EXPECT_EQ(d.core.phase(), run_phase::waiting);
  EXPECT_EQ(pick<balance::place_shares>(d.join("w2").then).size(), 1u);
}

TEST(coordinator_core, refuses_a_name_that_lives_and_numbers_its_next_life) {
  driver d;
  auto first = d.join("w1");
  auto twin = d.join("w1");
  EXPECT_EQ(twin.refused.code, errc::name_taken);
  EXPECT_NE(twin.refused.message.find("--name"), std::string::npos);
  d.core.take(connection_lost{first.accepted->worker, closed}, d.now);
  auto again = d.join("w1");
  ASSERT_TRUE(again.accepted);
  EXPECT_EQ(again.accepted->incarnation, 2u);
  EXPECT_NE(again.accepted->worker, first.accepted->worker);
}

TEST(coordinator_core, refuses_a_node_of_another_build) {
  driver d;
  EXPECT_EQ(d.join("w1", "b2").refused.code, errc::other_build);
}

TEST(coordinator_core, refuses_a_second_job_while_one_runs) {
  driver d;
  d.train({"w1"});
  EXPECT_EQ(d.core.submit(small_job(1), "x", term{1}).refused.code, errc::busy);
}

TEST(coordinator_core, shows_a_step_only_when_every_worker_applied_it) {
  driver d;
  d.train({"w1", "w2"});
  progress_report report;
  report.generation = generation{1};
  report.steps = {{step_number{1}, epoch_number{1}, plan_number{1}, 50, 2, 9}};
  report.worker = d.workers[0];
  EXPECT_TRUE(pick<write_steps>(d.core.take(report, d.now)).empty());
  report.worker = d.workers[1];
  EXPECT_EQ(pick<write_steps>(d.core.take(report, d.now)).size(), 1u);
}

TEST(coordinator_core, drops_messages_of_another_generation) {
  driver d;
  d.train({"w1"});
  progress_report stale;
  stale.generation = generation{7};
  stale.worker = d.workers[0];
  stale.steps = {{step_number{1}, epoch_number{1}, plan_number{1}, 50, 2, 9}};
  EXPECT_TRUE(d.core.take(stale, d.now).empty());
  EXPECT_TRUE(
      d.core
          .take(
              worker_failed{
                  d.workers[0], generation{7}, errc::internal, "x", {}, {}},
              d.now)
          .empty());
}

TEST(coordinator_core, fetches_the_model_from_all_ranks_when_all_finished) {
  driver d;
  d.train({"w1", "w2"});
  auto fetch = pick<fetch_model>(d.finish_all());
  ASSERT_EQ(fetch.size(), 1u);
  ASSERT_EQ(fetch[0].from.size(), 2u);
  EXPECT_EQ(fetch[0].from[0].address, "d1");
  EXPECT_EQ(fetch[0].from[1].address, "d2");
  actions end = d.core.take(saved_model{});
  EXPECT_EQ(pick<end_run>(end).at(0).exit_code, 0);
  for (const send_command& one : pick<send_command>(end))
    EXPECT_EQ(one.what.kind, command_kind::release);
  EXPECT_EQ(d.core.phase(), run_phase::done);
}

TEST(coordinator_core, fetches_the_model_from_one_alone_when_another_died) {
  // Its death and the failure of the fetch may come in either order.
  for (bool death_first : {true, false}) {
    driver d;
    d.train({"w1", "w2", "w3"});
    auto fetch = pick<fetch_model>(d.finish_all());
    ASSERT_EQ(fetch.at(0).from.size(), 3u);
    const saved_model in_vain{
        {errc::unreachable, "nothing answers there", {}}, {}, {}, {}};
    if (death_first)
      d.core.take(connection_lost{d.workers[0], killed_by(9)}, d.now);
    fetch = pick<fetch_model>(d.core.take(in_vain));
    if (!death_first) {
      EXPECT_EQ(fetch.at(0).from.at(0).address, "d1");
      d.core.take(connection_lost{d.workers[0], killed_by(9)}, d.now);
      fetch = pick<fetch_model>(d.core.take(in_vain));
    }
    ASSERT_EQ(fetch.size(), 1u);
    ASSERT_EQ(fetch[0].from.size(), 1u);
    EXPECT_EQ(fetch[0].from[0].address, "d2");
    EXPECT_EQ(pick<end_run>(d.core.take(saved_model{})).at(0).exit_code, 0);
    EXPECT_EQ(d.core.phase(), run_phase::done);
  }
}

// Frozen, or cut off for a while: the model is still in their memory.
TEST(coordinator_core, asks_again_for_a_model_that_nobody_hands_out) {
  for (bool in_time : {true, false}) {
    driver d;
    d.train({"w1", "w2"});
    d.finish_all();
    const saved_model silent{
        {errc::unreachable, "nothing answers there", {}}, {}, {}, {}};
    for (const char* alone : {"d1", "d2"}) {
      auto asked = pick<fetch_model>(d.core.take(silent));
      ASSERT_EQ(asked.size(), 1u);
      ASSERT_EQ(asked[0].from.size(), 1u);
      EXPECT_EQ(asked[0].from[0].address, alone);
    }
    EXPECT_TRUE(d.core.take(silent).empty());
    std::vector<end_run> over;
    size_t fetches = 0;
    for (int i = 0; i < 200 && over.empty() && fetches < 10u; ++i) {
      d.now += 200ms;
      for (worker_id who : d.workers)
        d.core.take(heartbeat{who, {}}, d.now);
      actions then = d.core.take(clock_tick{}, d.now);
      over = pick<end_run>(then);
      if (pick<fetch_model>(then).empty())
        continue;
      fetches += in_time ? 1 : 0;
      if (fetches < 10)
        d.core.take(silent), d.core.take(silent);
    }
    if (in_time) {
      EXPECT_TRUE(over.empty());
      over = pick<end_run>(d.core.take(saved_model{}));
    }
    ASSERT_EQ(over.size(), 1u);
    EXPECT_EQ(over[0].exit_code, in_time ? 0 : 1);
    EXPECT_EQ(over[0].reason.find("nothing answers there") != std::string::npos,
              !in_time);
    EXPECT_TRUE(in_time || d.now >= 30s) << "elastic.grace_s";
  }
}

// That its connection is closed is seen behind the failure of the fetch.
TEST(coordinator_core, goes_back_where_the_last_one_with_the_model_is_lost) {
  driver d;
  d.train({"w1"});
  d.finish_all();
  EXPECT_TRUE(
      d.core.take(saved_model{{errc::unreachable, "gone", {}}, {}, {}, {}})
          .empty());
  d.core.take(connection_lost{d.workers[0], killed_by(9)}, d.now);
  d.core.take(clock_tick{}, d.now);
  auto undone = pick<undo_steps>(d.core.take(clock_tick{}, d.now + 1s));
  ASSERT_EQ(undone.size(), 1u);
  EXPECT_EQ(d.core.phase(), run_phase::waiting);
}

// Else it would be waited for until the run ends for it.
TEST(coordinator_core, forgets_one_that_dies_unheard_while_the_model_is_saved) {
  driver d(true);
  d.train({"w1", "w2"});
  d.core.take(connection_lost{d.workers[1], killed_by(9)}, d.now);
  auto started = pick<start_worker>(d.core.take(clock_tick{}, d.now));
  ASSERT_EQ(started.size(), 1u);
  auto place = pick<balance::place_shares>(d.recover(step_number{0}));
  d.place(place.at(0));
  d.apply_steps(2);
  d.core.take(worker_finished{d.workers[0], generation{2}, step_number{2},
                              false, "sha"});
  ASSERT_EQ(d.core.phase(), run_phase::finishing);
  d.core.take(process_ended{started[0].name, killed_by(9)}, d.now);
  d.core.take(connection_lost{d.workers[0], killed_by(9)}, d.now);
  d.core.take(saved_model{{errc::unreachable, "gone", {}}, {}, {}, {}});
  ASSERT_EQ(d.core.phase(), run_phase::waiting);
  EXPECT_EQ(pick<start_worker>(d.core.take(clock_tick{}, d.now)).size(), 2u);
}

TEST(coordinator_core, is_not_done_while_a_step_of_the_model_is_unknown) {
  driver d;
  d.train({"w1"});
  actions end = d.core.take(worker_finished{d.workers[0], generation{1},
                                            step_number{2}, false, "sha"});
  EXPECT_EQ(pick<end_run>(end).at(0).exit_code, 1);
  EXPECT_NE(d.core.reason().find("only those up to 0"), std::string::npos);
}

TEST(coordinator_core, fails_when_workers_end_with_different_parameters) {
  driver d;
  d.train({"w1", "w2"});
  d.core.take(worker_finished{d.workers[0], generation{1}, step_number{2},
                              false, "sha"});
  actions end = d.core.take(worker_finished{d.workers[1], generation{1},
                                            step_number{2}, false, "other"});
  EXPECT_EQ(pick<end_run>(end).at(0).exit_code, 1);
}

TEST(coordinator_core, fences_the_survivors_when_a_worker_is_lost) {
  driver d;
  d.train({"w1", "w2", "w3"});
  actions then =
      d.core.take(connection_lost{d.workers[1], killed_by(9)}, d.now);
  auto fences = pick<send_fence>(then);
  ASSERT_EQ(fences.size(), 2u) << "only who still lives is asked";
  EXPECT_EQ(fences[0].what.level, generation{1});
  EXPECT_EQ(d.core.phase(), run_phase::recovering);
}

TEST(coordinator_core, goes_on_from_the_newest_step_that_a_survivor_holds) {
  driver d;
  d.train({"w1", "w2", "w3"});
  ledger::step_record first{
      step_number{1}, epoch_number{1}, plan_number{1}, 50, 2, 9};
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  // w2 applied step 1, w3 did not.
  d.core.take(
      final_ack{d.workers[1], generation{1}, true, step_number{1}, {first}, {}},
      d.now);
  auto place = pick<balance::place_shares>(d.core.take(
      final_ack{d.workers[2], generation{1}, true, step_number{0}, {}, {}},
      d.now));
  ASSERT_EQ(place.size(), 1u);
  EXPECT_EQ(place[0].generation, generation{2});
  EXPECT_EQ(place[0].workers.size(), 2u);
  ledger::plan next =
      balance::repaired_plan(d.chunks(), 0.1, place[0].before, place[0].workers,
                             place[0].generation, place[0].number);
  auto orders =
      pick<send_assignment>(d.core.take(shares_placed{next, {{}, {}}}, d.now));
  ASSERT_EQ(orders.size(), 2u);
  EXPECT_EQ(orders[0].what.start.step, step_number{2});
  auto connects = pick<send_connect>(d.join_ranks());
  ASSERT_EQ(connects.size(), 2u);
  EXPECT_EQ(connects[0].what.late, std::vector<uint32_t>{1});
  EXPECT_TRUE(connects[0].what.stale.empty());
  EXPECT_EQ(connects[0].what.source, 0u);
  EXPECT_EQ(d.core.last().step, step_number{1})
      << "committed once both hold it";
  EXPECT_EQ(d.core.last().generation, generation{1});
}

TEST(coordinator_core, gives_all_to_who_is_behind_if_nobody_can_tell_the_step) {
  driver d;
  d.train({"w1", "w2", "w3"});
  ledger::step_record first{
      step_number{1}, epoch_number{1}, plan_number{1}, 50, 2, 9};
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  // w2 has the state of step 1 from w1, and w3 is behind.
  final_ack received{d.workers[1],   generation{1}, true,
                     step_number{1}, {first},       {}};
  received.lacks_last_step = true;
  d.core.take(received, d.now);
  auto place = pick<balance::place_shares>(d.core.take(
      final_ack{d.workers[2], generation{1}, true, step_number{0}, {}, {}},
      d.now));
  ASSERT_EQ(place.size(), 1u);
  ledger::plan next =
      balance::repaired_plan(d.chunks(), 0.1, place[0].before, place[0].workers,
                             place[0].generation, place[0].number);
  d.core.take(shares_placed{next, {{}, {}}}, d.now);
  auto connects = pick<send_connect>(d.join_ranks());
  ASSERT_EQ(connects.size(), 2u);
  EXPECT_TRUE(connects[0].what.late.empty());
  EXPECT_EQ(connects[0].what.stale, std::vector<uint32_t>{1});
  EXPECT_EQ(connects[0].what.source, 0u);
}

TEST(coordinator_core, learns_from_the_fence_of_evaluations_that_met_nobody) {
  driver d;
  d.train({"w1", "w2", "w3"});
  d.apply_steps(2);
  auto result = [](uint64_t epoch) {
    evaluation_report out;
    out.epoch = epoch_number{epoch};
    out.step = step_number{2 * epoch};
    return out;
  };
  evaluation_report heard = result(1);
  heard.worker = d.workers[0];
  heard.generation = generation{1};
  d.core.take(heard);
  actions lost = d.core.take(connection_lost{d.workers[2], closed}, d.now);
  EXPECT_EQ(value(pick<send_fence>(lost).at(0).what.evaluated), 2u);
  std::vector<ledger::step_record> later;
  for (uint64_t step : {3, 4, 5, 6})
    later.push_back({step_number{step}, epoch_number{(step + 1) / 2},
                     plan_number{1}, 50, 2, 9 * step});
  actions then =
      d.recover(step_number{6}, later, {result(1), result(2), result(3)});
  std::vector<uint64_t> epochs;
  for (const auto& one : told<events::evaluated>(then))
    epochs.push_back(value(one.epoch));
  EXPECT_EQ(epochs, (std::vector<uint64_t>{2, 3}));
}

TEST(coordinator_core, excludes_who_does_not_answer_the_fence) {
  driver d;
  d.train({"w1", "w2", "w3"});
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  d.core.take(
      final_ack{d.workers[2], generation{1}, true, step_number{0}, {}, {}},
      d.now);
  EXPECT_TRUE(pick<expel>(d.core.take(clock_tick{}, d.now + 300ms)).empty());
  EXPECT_EQ(pick<expel>(d.core.take(clock_tick{}, d.now + 500ms)).size(), 1u);
}

TEST(coordinator_core, names_the_process_and_its_signal_when_it_learns_them) {
  driver d(true);
  d.train({"w1", "w2"});
  actions first = d.core.take(connection_lost{d.workers[1], closed}, d.now);
  EXPECT_TRUE(told<events::worker_lost>(first).empty())
      << "a better reason may still come";
  actions then = d.core.take(process_ended{"w2", killed_by(9)}, d.now);
  EXPECT_EQ(pick<write_event>(then).size(), 1u);
  auto lost = told<events::worker_lost>(then);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(describe(lost[0].cause), "killed by signal 9 (Killed)");
  EXPECT_EQ(describe(d.core.members().recovery()->reason),
            "worker w2 lost: killed by signal 9 (Killed)");
}

TEST(coordinator_core, waits_for_no_better_reason_where_nobody_has_one) {
  driver d;
  d.train({"w1", "w2"});
  actions then = d.core.take(connection_lost{d.workers[1], closed}, d.now);
  EXPECT_EQ(pick<write_event>(then).size(), 1u);
  EXPECT_EQ(told<events::worker_lost>(then).size(), 1u);
}

TEST(coordinator_core, needs_no_more_than_the_end_of_the_process) {
  driver d(true);
  d.train({"w1", "w2"});
  actions then = d.core.take(process_ended{"w2", killed_by(9)}, d.now);
  EXPECT_EQ(pick<write_event>(then).size(), 1u);
  EXPECT_EQ(told<events::worker_lost>(then).size(), 1u);
  EXPECT_TRUE(pick<write_event>(
                  d.core.take(connection_lost{d.workers[1], closed}, d.now))
                  .empty());
}

TEST(coordinator_core, says_whose_compressed_gradients_are_lost) {
  for (const bool compresses : {false, true}) {
    driver d(true);
    if (compresses)
      d.more = [](job& what) {
        what.train.compression = compression_kind::topk;
      };
    d.train({"w1", "w2", "w3"});
    d.core.take(connection_lost{d.workers[2], closed}, d.now);
    const auto later = told<events::worker_lost>(
        d.core.take(process_ended{"w3", killed_by(9)}, d.now));
    ASSERT_EQ(later.size(), 1u);
    EXPECT_EQ(later[0].unsent_lost, compresses);
    d.join("w4"); // it has computed nothing yet
    const auto newcomer = told<events::worker_lost>(
        d.core.take(process_ended{"w4", killed_by(9)}, d.now));
    ASSERT_EQ(newcomer.size(), 1u);
    EXPECT_FALSE(newcomer[0].unsent_lost);
  }
}

TEST(coordinator_core, tells_at_once_why_it_excluded_somebody) {
  driver d(true);
  d.train({"w1", "w2"});
  actions then = d.core.ask(evict_request{"w2"}, d.now).then;
  EXPECT_EQ(pick<write_event>(then).size(), 1u);
  auto lost = told<events::worker_lost>(then);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<losses::evicted>(lost[0].cause));
  // That its process ends in consequence is no reason.
  EXPECT_TRUE(
      pick<write_event>(d.core.take(process_ended{"w2", killed_by(9)}, d.now))
          .empty());
}

TEST(coordinator_core, tells_of_every_loss_before_the_run_is_over) {
  driver d(true);
  d.train({"w1", "w2", "w3"});
  d.finish_all();
  d.core.take(connection_lost{d.workers[2], closed}, d.now);
  actions end = d.core.take(saved_model{});
  ASSERT_TRUE(std::holds_alternative<write_event>(end.at(0)));
  EXPECT_TRUE(std::holds_alternative<events::worker_lost>(
      std::get<write_event>(end[0]).what));
  EXPECT_TRUE(d.core.take(process_ended{"w3", killed_by(9)}, d.now).empty());
}

TEST(coordinator_core, stops_also_while_it_waits_for_more_workers) {
  driver d;
  d.train({"w1", "w2"}, 2);
  d.apply_steps(1);
  d.core.take(connection_lost{d.workers[1], killed_by(9)}, d.now);
  actions waiting = d.recover(step_number{1});
  EXPECT_TRUE(pick<balance::place_shares>(waiting).empty());
  EXPECT_TRUE(
      pick<balance::place_shares>(d.core.take(clock_tick{}, d.now)).empty());
  d.core.ask(stop_run{false});
  auto place = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
  ASSERT_EQ(place.size(), 1u) << "the model is written by who is left";
  EXPECT_EQ(place[0].workers.size(), 1u);
  EXPECT_TRUE(
      pick<balance::place_shares>(d.core.take(clock_tick{}, d.now)).empty());
}

TEST(coordinator_core, ends_with_the_reason_of_the_last_loss) {
  // A second later there is nothing better to say than what is known.
  for (bool told : {true, false}) {
    driver d(true);
    d.train({"w1"}, 1, false);
    d.apply_steps(1);
    EXPECT_TRUE(
        pick<end_run>(d.core.take(connection_lost{d.workers[0], closed}, d.now))
            .empty());
    auto over = pick<end_run>(
        told ? d.core.take(process_ended{"w1", killed_by(9)}, d.now)
             : d.core.take(clock_tick{}, d.now + 1100ms));
    ASSERT_EQ(over.size(), 1u);
    EXPECT_EQ(
        over[0].reason,
        std::string("every worker that held the model of step 1 is lost: "
                    "worker w1 lost: ") +
            (told ? "killed by signal 9 (Killed)" : "its connection closed"));
  }
}

TEST(coordinator_core, starts_a_worker_for_one_that_died) {
  driver d(true);
  d.train({"w1", "w2"});
  d.core.take(connection_lost{d.workers[1], closed}, d.now);
  auto started = pick<start_worker>(d.core.take(clock_tick{}, d.now));
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].name, "w3");
  EXPECT_TRUE(pick<start_worker>(d.core.take(clock_tick{}, d.now)).empty());
}

TEST(coordinator_core, waits_for_other_nodes_only_where_others_may_come) {
  for (bool supervised : {false, true}) {
    driver d(supervised);
    d.join("w2");
    worker_id alone = d.core.nodes().all().begin()->first;
    job what = small_job(2);
    what.elastic.respawn = false;
    d.core.submit(what, "test-1", term{1});
    d.core.take(data_prepared{d.set()}, d.now);
    EXPECT_EQ(d.core.phase(), run_phase::waiting);
    EXPECT_TRUE(
        pick<end_run>(d.core.take(connection_lost{alone, closed}, d.now))
            .empty());
    auto over =
        pick<end_run>(d.core.take(process_ended{"w2", killed_by(9)}, d.now));
    ASSERT_EQ(over.size(), supervised ? 1u : 0u);
    EXPECT_EQ(d.core.active(), !supervised);
    if (supervised) {
      EXPECT_EQ(
          over[0].reason,
          "worker w2 (pid 100 on host) lost: killed by signal 9 (Killed)");
      EXPECT_EQ(status_of(d.core, d.now).ended.value().exit_code, 1);
    }
  }
}

TEST(coordinator_core, replaces_who_dies_before_the_first_generation) {
  driver d(true);
  d.core.submit(small_job(2), "test-1", term{1});
  d.core.take(process_ended{"w1", killed_by(9)}, d.now);
  auto started = pick<start_worker>(d.core.take(clock_tick{}, d.now));
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].name, "w3");
}

TEST(coordinator_core, gives_up_when_workers_keep_dying_before_they_joined) {
  driver d(true);
  d.core.submit(small_job(1), "test-1", term{1});
  std::vector<end_run> over;
  for (int i = 1; over.empty() && i < 20; ++i) {
    over = pick<end_run>(d.core.take(
        process_ended{"w" + std::to_string(i), exited_with(1)}, d.now));
    d.core.take(clock_tick{}, d.now);
  }
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].reason, "worker w6 ended before it joined: exited with "
                            "code 1");
}

TEST(coordinator_core, waits_a_minute_for_workers_that_were_started) {
  for (bool supervised : {false, true}) {
    driver d(supervised);
    d.core.submit(small_job(2), "test-1", term{1});
    d.core.take(data_prepared{d.set()}, d.now);
    EXPECT_TRUE(d.core.take(clock_tick{}, 5s).empty());
    actions then = d.core.take(clock_tick{}, 10s);
    EXPECT_EQ(pick<write_event>(then).size(), 1u);
    auto waiting = told<events::waiting>(then);
    ASSERT_EQ(waiting.size(), 1u);
    EXPECT_EQ(waiting[0].reason, "0 of 2 workers are here: waits for more");
    EXPECT_TRUE(d.core.take(clock_tick{}, 64s).empty()) << "told once";
    auto over = pick<end_run>(d.core.take(clock_tick{}, 66s));
    ASSERT_EQ(over.size(), supervised ? 1u : 0u);
    if (supervised) {
      EXPECT_EQ(over[0].reason, "only 0 of 2 workers joined within 60 s; see "
                                "their files in logs/");
    }
  }
}

TEST(coordinator_core, suspects_after_three_heartbeats_of_silence) {
  driver d;
  d.train({"w1", "w2"});
  d.now = 1s;
  d.core.take(heartbeat{d.workers[0], generation{1}}, d.now);
  d.core.take(heartbeat{d.workers[1], generation{1}}, d.now);
  d.now = 1500ms;
  d.core.take(heartbeat{d.workers[0], generation{1}}, d.now);
  EXPECT_TRUE(pick<send_fence>(d.core.take(clock_tick{}, d.now)).empty());
  auto fences = pick<send_fence>(d.core.take(clock_tick{}, 1650ms));
  ASSERT_EQ(fences.size(), 2u) << "it may only be slow: it is asked, too";
  EXPECT_NE(fences[0].what.reason.find("no heartbeat for 650 ms"),
            std::string::npos)
      << fences[0].what.reason;
}

TEST(coordinator_core, stops_by_lane_and_keeps_the_exit_code_of_the_cause) {
  for (bool by_signal : {false, true}) {
    driver d;
    d.train({"w1", "w2"});
    auto told = pick<send_command>(d.core.ask(stop_run{by_signal}).then);
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].what.kind, command_kind::stop);
    d.finish_all(true);
    auto over = pick<end_run>(d.core.take(saved_model{}));
    EXPECT_EQ(over.at(0).state, "stopped");
    EXPECT_EQ(over.at(0).exit_code, by_signal ? 130 : 0);
  }
}

TEST(coordinator_core, pauses_when_all_stand_still_and_resumes) {
  driver d;
  d.train({"w1", "w2"});
  EXPECT_FALSE(d.core.ask(pause_request{}).refused);
  d.core.take(worker_paused{d.workers[0], generation{1}, step_number{3}},
              d.now);
  EXPECT_EQ(d.core.phase(), run_phase::training);
  d.core.take(worker_paused{d.workers[1], generation{1}, step_number{3}},
              d.now);
  EXPECT_EQ(d.core.phase(), run_phase::paused);
  EXPECT_EQ(pick<send_command>(d.core.ask(resume_request{}).then).size(), 2u);
  EXPECT_EQ(d.core.phase(), run_phase::training);
  EXPECT_TRUE(d.core.ask(resume_request{}).refused);
}

TEST(coordinator_core, bad_data_end_the_run_with_exit_code_two) {
  driver d;
  d.core.submit(small_job(1), "test-1", term{1});
  auto over = pick<end_run>(
      d.core.take(prepare_failed{{errc::invalid_data, "row 3", {}}}));
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].exit_code, 2);
  EXPECT_FALSE(d.core.active());
}

} // namespace
} // namespace ballast::coordinator
