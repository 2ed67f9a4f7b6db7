// Goal: workers that trained on for hundreds of thousands of steps without a
// coordinator lose none of them, and the next coordinator shows each once.
// Method: two lives of a coordinator; the workers of the second one answer the
// fence from a step_history, in parts.
#include "coordinator_driver.hpp"
#include "runtime/worker/step_history.hpp"

namespace ballast::coordinator {
namespace {

constexpr uint64_t absent = 200'000; // steps without a coordinator

class long_absence : public ::testing::Test {
protected:
  long_absence() {
    first_.join("w1");
    first_.join("w2");
    what_ = small_job(2);
    what_.train.epochs = 1'000'000;
    first_.core.submit(what_, "test-1", term{1});
    auto place = pick<balance::place_shares>(
        first_.core.take(data_prepared{first_.set()}, first_.now));
    first_.place(place.at(0));
    past_.begun = past_.what = what_;
    past_.name = "test-1";
    past_.rows = 100;
    for (const journal_change& one : pick<journal_change>(first_.assigned)) {
      past_.memberships.push_back(
          {one.generation, one.workers, one.names, one.incarnations});
      past_.plans.push_back({one.what, one.effective, one.note});
    }
    for (uint64_t n = 1; n <= absent + 1; ++n)
      w1_.add(record(n));
    for (uint64_t n = 1; n <= absent; ++n)
      w2_.add(record(n));
  }

  static ledger::step_record record(uint64_t n) {
    return {
        step_number{n}, epoch_number{1 + (n - 1) / 2}, plan_number{1}, 50, 2,
        1000 * n};
  }

  /// As a worker's engine answers.
  final_ack answer(worker_id who, const worker::step_history& has,
                   const fence_order& to) {
    final_ack out;
    out.worker = who;
    out.level = to.level;
    out.holds_state = true;
    out.step = has.last()->step;
    out.records = has.after(to.known, records_told_max);
    out.more = !out.records.empty() && has.goes_beyond(out.records.back().step);
    return out;
  }

  /// The second life, and both come back; what it asks them.
  std::vector<send_fence> both_return() {
    second_.core.resume(past_, term{2});
    second_.core.take(data_prepared{second_.set()}, second_.now);
    std::vector<send_fence> asked;
    for (const char* name : {"w1", "w2"}) {
      worker_hello hello{name, 100, "host", "cpu", "b1", "m"};
      hello.was = past_.memberships[0].workers[name[1] - '1'];
      hello.run = "test-1";
      for (send_fence& one :
           pick<send_fence>(second_.core.hello(hello, second_.now).then))
        asked.push_back(std::move(one));
    }
    return asked;
  }

  /// Likewise; what it says to their answers.
  actions take_over() {
    std::vector<send_fence> asked = both_return();
    actions all;
    while (!asked.empty()) {
      send_fence one = std::move(asked.front());
      asked.erase(asked.begin());
      second_.now += std::chrono::milliseconds(300); // slower than a patience
      actions then = second_.core.take(
          answer(one.to, one.to == past_.memberships[0].workers[0] ? w1_ : w2_,
                 one.what),
          second_.now);
      actions late = second_.core.take(clock_tick{}, second_.now);
      EXPECT_TRUE(pick<expel>(late).empty());
      for (send_fence& more : pick<send_fence>(then))
        asked.push_back(std::move(more));
      all.insert(all.end(), then.begin(), then.end());
    }
    return all;
  }

  driver first_;
  driver second_;
  job what_;
  past_run past_;
  worker::step_history w1_; // one step ahead
  worker::step_history w2_;
};

TEST_F(long_absence, of_the_coordinator_loses_no_step) {
  uint64_t shown = 0;
  actions all = take_over();
  for (const write_steps& lines : pick<write_steps>(all))
    for (const ledger::committed_step& step : lines.steps)
      ASSERT_EQ(value(step.step), ++shown);
  EXPECT_EQ(shown, absent);
  EXPECT_NE(second_.core.phase(), run_phase::failed) << second_.core.reason();
  // w2 gets the step that only w1 holds, and nobody comes without a state.
  auto place = pick<balance::place_shares>(all);
  ASSERT_EQ(place.size(), 1u);
  second_.place(place[0]);
  const generation_state& now = *second_.core.generation();
  EXPECT_EQ(now.commits.base(), step_number{absent + 1});
  EXPECT_EQ(now.late.size(), 1u);
  EXPECT_TRUE(now.stale.empty());
}

// A worker evaluates an epoch when the next coordinator has just come, and says
// so before it hears of the fence; of what happened in between its answer
// tells.
TEST_F(long_absence, shows_the_evaluations_of_all_epochs_in_their_order) {
  std::vector<send_fence> asked = both_return();
  const worker_id w1 = past_.memberships[0].workers[0];
  const auto evaluated = [&](uint64_t epoch) {
    evaluation_report out;
    out.worker = w1;
    out.generation = generation{1};
    out.epoch = epoch_number{epoch};
    out.step = step_number{2 * epoch};
    return out;
  };
  std::vector<events::evaluated> shown =
      told<events::evaluated>(second_.core.take(evaluated(3), second_.now));
  while (!asked.empty()) {
    send_fence one = std::move(asked.front());
    asked.erase(asked.begin());
    final_ack ack = answer(one.to, one.to == w1 ? w1_ : w2_, one.what);
    if (!ack.more)
      ack.evaluations = {evaluated(1), evaluated(2)};
    actions then = second_.core.take(ack, second_.now);
    for (send_fence& more : pick<send_fence>(then))
      asked.push_back(std::move(more));
    for (const events::evaluated& event : told<events::evaluated>(then))
      shown.push_back(event);
  }
  std::vector<uint64_t> epochs;
  for (const events::evaluated& one : shown)
    epochs.push_back(value(one.epoch));
  EXPECT_EQ(epochs, (std::vector<uint64_t>{1, 2, 3}));
}

// The journal, which knows them, has no host and no pid of them.
TEST_F(long_absence, names_no_host_of_workers_that_never_come_back) {
  second_.core.resume(past_, term{2});
  second_.core.take(data_prepared{second_.set()}, second_.now);
  second_.now += std::chrono::hours(1);
  const auto lost =
      told<events::worker_lost>(second_.core.take(clock_tick{}, second_.now));
  ASSERT_EQ(lost.size(), 2u);
  for (const events::worker_lost& one : lost)
    EXPECT_FALSE(one.process.has_value()) << one.worker;
}

// Its process ended while nobody led the run.
TEST_F(long_absence, lets_no_unsent_gradients_vanish_in_silence) {
  for (const bool compresses : {false, true})
    for (const bool another_lives : {false, true}) {
      past_.what.train.compression =
          compresses ? compression_kind::topk : compression_kind::none;
      past_.alive.emplace();
      if (another_lives)
        past_.alive->insert("w1");
      driver next;
      next.core.resume(past_, term{2});
      const auto lost = told<events::worker_lost>(
          next.core.take(data_prepared{next.set()}, next.now));
      ASSERT_EQ(lost.size(), another_lives ? 1U : 2U);
      EXPECT_EQ(lost.back().worker, "w2");
      // Where nobody lives a checkpoint is gone on from, which has them.
      EXPECT_EQ(lost.back().unsent_lost, compresses && another_lives);
    }
}

// It alone holds the model, and hears of the fence only now.
TEST_F(long_absence, leaves_whoever_returns_at_its_end_the_whole_grace) {
  past_.steps = {{.step = step_number{1},
                  .epoch = epoch_number{1},
                  .generation = generation{1},
                  .plan = plan_number{1},
                  .world = 2,
                  .samples = 50,
                  .loss = 2}};
  past_.committed = step_number{1};
  second_.core.resume(past_, term{2});
  second_.core.take(data_prepared{second_.set()}, second_.now);
  second_.now += std::chrono::seconds(what_.elastic.orphan_s - 1);
  worker_hello hello{"w1", 100, "host", "cpu", "b1", "m"};
  hello.was = past_.memberships[0].workers[0];
  hello.run = "test-1";
  second_.core.hello(hello, second_.now);
  const instant back = second_.now;
  const auto grace = std::chrono::seconds(what_.elastic.grace_s);
  std::vector<events::worker_lost> lost;
  for (; second_.now < back + grace + std::chrono::seconds(10) && lost.empty();
       second_.now += std::chrono::milliseconds(100)) {
    second_.core.take(heartbeat{.worker = hello.was}, second_.now);
    lost =
        told<events::worker_lost>(second_.core.take(clock_tick{}, second_.now));
  }
  ASSERT_EQ(lost.size(), 2u);
  EXPECT_GE(second_.now, back + grace);
  EXPECT_EQ(lost[0].worker, "w1");
  EXPECT_TRUE(std::holds_alternative<losses::silent>(lost[0].cause))
      << describe(lost[0].cause);
}

TEST_F(long_absence, is_told_in_messages_of_bounded_size) {
  fence_order all{.term = term{2}, .level = generation{1}};
  final_ack part = answer(worker_id{1}, w1_, all);
  EXPECT_TRUE(part.more);
  EXPECT_EQ(part.records.size(), records_told_max);
}

TEST_F(long_absence, workers_hear_what_they_need_not_keep_any_longer) {
  driver d;
  d.train({"w1", "w2"});
  progress_report report;
  report.generation = generation{1};
  for (uint64_t n = 1; n <= 40'000; ++n)
    report.steps.push_back(record(n));
  actions out;
  for (worker_id who : d.workers) {
    report.worker = who;
    out = d.core.take(report, d.now);
  }
  std::vector<step_number> told;
  for (const send_command& one : pick<send_command>(out))
    if (one.what.kind == command_kind::recorded)
      told.push_back(one.what.step);
  EXPECT_EQ(told, (std::vector<step_number>(2, step_number{40'000})));
}

} // namespace
} // namespace ballast::coordinator
