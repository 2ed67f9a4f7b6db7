// Goal: what users asked for while a run went on is journaled at once, and a
// restarted coordinator keeps to it. Method: two lives of a coordinator; the
// second one gets what the first one journaled.
#include "coordinator_driver.hpp"

#include "runtime/coordinator/status.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

job long_job() {
  job out = small_job(3);
  out.train.epochs = 1000;
  out.balance.skew_tv = 0.1;
  return out;
}

class asking : public ::testing::Test {
protected:
  asking() {
    for (const char* name : {"w1", "w2", "w3"})
      first_.join(name);
    first_.core.submit(long_job(), "test-1", term{1});
    begun_ = first_.core.take(data_prepared{first_.set()}, first_.now);
    auto place = pick<balance::place_shares>(begun_);
    EXPECT_EQ(place.size(), 1u);
    first_.workers = place.at(0).workers;
    first_.place(place[0]);
    auto journaled = pick<journal_change>(first_.assigned);
    EXPECT_EQ(journaled.size(), 1u);
    past_.begun = past_.what = long_job();
    past_.name = "test-1";
    past_.rows = 100;
    past_.memberships = {{journaled[0].generation, journaled[0].workers,
                          journaled[0].names, journaled[0].incarnations}};
    past_.plans = {{journaled[0].what, journaled[0].effective, {}}};
  }

  /// Keeps what is journaled for the next life.
  failure ask(const played_coordinator::reply& answer) {
    for (const journal_requests& one : pick<journal_requests>(answer.then))
      past_.asked = one.what;
    return answer.refused;
  }

  /// The second life, up to the first step after its recovery.
  void restart() {
    second_.core.resume(past_, term{2});
    prepared_ = second_.core.take(data_prepared{second_.set()}, second_.now);
    for (worker_id who : first_.workers) {
      worker_hello hello{
          first_.core.name_of(who), 100, "host", "cpu", "b1", "http://m"};
      hello.was = who;
      hello.run = "test-1";
      EXPECT_TRUE(second_.core.hello(hello, second_.now).accepted);
    }
    auto place = pick<balance::place_shares>(second_.recover(step_number{0}));
    ASSERT_EQ(place.size(), 1u);
    connected_ = second_.place(place[0]);
    second_.apply_steps(1);
  }

  /// Who of the second life is told to stop once all train again.
  size_t told_to_stop() const {
    size_t out = 0;
    for (const send_command& one : pick<send_command>(second_.begun))
      out += one.what.kind == command_kind::stop ? 1 : 0;
    return out;
  }

  /// They have done that.
  end_run stop_second() {
    for (worker_id who : second_.core.generation()->workers)
      second_.core.take(worker_finished{who, second_.core.generation()->number,
                                        step_number{1}, true, "sha"});
    auto ended = pick<end_run>(second_.core.take(saved_model{}));
    EXPECT_EQ(ended.size(), 1u);
    return ended.empty() ? end_run{} : ended[0];
  }

  /// Whether those who train again stand still first.
  bool stand_still() const {
    auto told = pick<send_connect>(connected_);
    EXPECT_EQ(told.size(), 3u);
    return !told.empty() && told[0].what.paused;
  }

  /// Who is to train next; the same as now where nothing is to change.
  std::vector<std::string> next_members() {
    actions then = second_.core.take(clock_tick{}, second_.now);
    for (const start_worker& one : pick<start_worker>(then))
      started_.push_back(one.name);
    auto place = pick<balance::place_shares>(then);
    std::vector<std::string> out;
    for (worker_id who :
         place.empty() ? second_.core.generation()->workers : place[0].workers)
      out.push_back(second_.core.name_of(who));
    return out;
  }

  driver first_{true};
  driver second_{true};
  past_run past_;
  actions begun_;
  actions prepared_;
  actions connected_;
  std::vector<std::string> started_;
};

TEST_F(asking, begins_with_what_the_job_says) {
  auto told = pick<apply_balance>(begun_);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].what.enabled);
  EXPECT_EQ(told[0].what.skew_tv, 0.1);
}

TEST_F(asking, another_balance_is_journaled_before_it_is_applied) {
  auto answer = first_.core.ask(balance_request{std::nullopt, 0.3});
  ASSERT_THAT(answer.then, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<journal_requests>(answer.then[0]));
  const auto& applied = std::get<apply_balance>(answer.then[1]).what;
  EXPECT_TRUE(applied.enabled) << "what is not given stays";
  EXPECT_EQ(applied.skew_tv, 0.3);
  EXPECT_TRUE(std::holds_alternative<events::balance_set>(
      std::get<write_event>(answer.then[2]).what));
  auto status = status_of(first_.core, first_.now).run.value().balance;
  EXPECT_EQ(status.skew_tv, 0.3);
  EXPECT_EQ(status.enabled, true);
}

TEST_F(asking, nonsense_changes_nothing) {
  ask(first_.core.ask(balance_request{false, 0.25}));
  for (double wrong : {-0.1, 1.01, -1e300, 1e300}) {
    auto answer = first_.core.ask(balance_request{true, wrong});
    EXPECT_EQ(answer.refused.message, "/skew_tv: expected 0 to 1");
    EXPECT_THAT(answer.then, SizeIs(0));
  }
  EXPECT_EQ(first_.core.ask(balance_request{{}, {}}).refused.message,
            "set_balance: give \"enabled\" or \"skew_tv\"");
  // Also not the half that was right.
  auto status = status_of(first_.core, first_.now).run.value().balance;
  EXPECT_EQ(status.enabled, false);
  EXPECT_EQ(status.skew_tv, 0.25);
  for (double edge : {0, 1})
    EXPECT_FALSE(first_.core.ask(balance_request{{}, edge}).refused);
  driver idle;
  EXPECT_EQ(idle.core.ask(balance_request{true, {}}).refused.message,
            "no run trains here");
}

TEST_F(asking, another_balance_outlives_the_coordinator) {
  ask(first_.core.ask(balance_request{false, std::nullopt}));
  ask(first_.core.ask(balance_request{std::nullopt, 0.3}));
  restart();
  auto told = pick<apply_balance>(prepared_);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(told[0].what.enabled);
  EXPECT_EQ(told[0].what.skew_tv, 0.3);
}

TEST_F(asking, who_resumes_with_another_job_has_asked_anew) {
  ask(first_.core.ask(balance_request{false, 0.3}));
  ask(first_.core.ask(scale_request{2}));
  past_.what.balance.skew_tv = 0.2;
  past_.what.elastic.workers = 4;
  restart();
  auto told = pick<apply_balance>(prepared_);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].what.enabled);
  EXPECT_EQ(told[0].what.skew_tv, 0.2);
  EXPECT_THAT(next_members(), ElementsAre("w1", "w2", "w3"));
  EXPECT_THAT(started_, SizeIs(1)) << "the job says four";
}

TEST_F(asking, a_worker_that_was_asked_to_leave_leaves) {
  ask(first_.core.ask(drain_request{"w2"}));
  restart();
  EXPECT_THAT(next_members(), ElementsAre("w1", "w3"));
}

TEST_F(asking, fewer_workers_stay_fewer) {
  ask(first_.core.ask(scale_request{2}));
  restart();
  EXPECT_THAT(next_members(), ElementsAre("w1", "w2"));
  EXPECT_THAT(started_, SizeIs(0));
}

TEST_F(asking, fewer_are_enough_to_begin_with) {
  ask(first_.core.ask(scale_request{2}));
  past_.plans.clear(); // everybody died before the first of them
  past_.memberships.clear();
  past_.alive.emplace();
  second_.core.resume(past_, term{2});
  prepared_ = second_.core.take(data_prepared{second_.set()}, second_.now);
  second_.join("w4");
  EXPECT_THAT(pick<balance::place_shares>(second_.join("w5").then), SizeIs(1));
}

TEST_F(asking, more_workers_are_started) {
  ask(first_.core.ask(scale_request{5}));
  restart();
  next_members();
  EXPECT_THAT(started_, ElementsAre("w4", "w5"));
}

TEST_F(asking, a_stop_under_way_is_finished_by_the_next_one) {
  auto answer = first_.core.ask(stop_run{false});
  ASSERT_FALSE(answer.then.empty());
  EXPECT_TRUE(std::holds_alternative<journal_requests>(answer.then[0]))
      << "before anybody is told";
  ask(answer);
  restart();
  EXPECT_EQ(told_to_stop(), 3u);
  end_run end = stop_second();
  EXPECT_EQ(end.state, "stopped");
  EXPECT_EQ(end.exit_code, 0);
}

TEST_F(asking, a_stop_by_a_signal_stays_one) {
  ask(first_.core.ask(stop_run{true}));
  ask(first_.core.ask(stop_run{false}));
  restart();
  EXPECT_EQ(stop_second().exit_code, 130);
}

TEST_F(asking, a_stop_before_the_first_step_needs_no_worker) {
  ask(first_.core.ask(stop_run{true}));
  past_.memberships.clear();
  past_.plans.clear();
  second_.core.resume(past_, term{2});
  auto ended =
      pick<end_run>(second_.core.take(data_prepared{second_.set()}, {}));
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].state, "stopped");
  EXPECT_EQ(ended[0].exit_code, 130);
}

// After the second Ctrl-C, say: it stopped without a report.
TEST_F(asking, who_resumes_what_nobody_is_left_of_wants_it_to_go_on) {
  ask(first_.core.ask(stop_run{true}));
  past_.alive.emplace();
  past_.asked_again = true;
  auto resumed = second_.core.resume(past_, term{2});
  EXPECT_FALSE(second_.core.run().requests.stops());
  auto journaled = pick<journal_requests>(resumed.then);
  ASSERT_THAT(journaled, SizeIs(1));
  EXPECT_FALSE(journaled[0].what.stop);
}

/// Placed, and its workers were told to load: what they were told.
std::vector<send_assignment> load_first(driver& of, const std::string& run) {
  for (const char* name : {"w1", "w2"})
    of.join(name);
  of.core.submit(small_job(2), run, term{1});
  const auto place = pick<balance::place_shares>(
      of.core.take(data_prepared{of.set()}, of.now));
  EXPECT_EQ(place.size(), 1u);
  std::vector<share_summary> counts;
  for (worker_id who : place.at(0).workers)
    counts.push_back({who, 0, 0});
  return pick<send_assignment>(
      of.core.take(shares_placed{of.first(place[0]), counts}, of.now));
}

// Their terms are those of one journal each; workers know one term.
TEST_F(asking, the_next_job_of_a_restarted_coordinator_reaches_its_workers) {
  ask(first_.core.ask(stop_run{false}));
  past_.memberships.clear();
  past_.plans.clear();
  second_.core.resume(past_, term{2}, "of the run before");
  second_.core.take(data_prepared{second_.set()}, {});
  ASSERT_FALSE(second_.core.active());
  const auto told = load_first(second_, "test-2");
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_EQ(told[0].what.term, term{2});
  EXPECT_EQ(told[0].what.token, "t");
}

TEST_F(asking, a_stop_while_workers_load_for_the_first_time_waits_for_none) {
  driver d;
  const auto told = load_first(d, "test-1");
  auto stopped = d.core.ask(stop_run{false});
  auto ended = pick<end_run>(stopped.then);
  ASSERT_THAT(ended, SizeIs(1));
  EXPECT_EQ(ended[0].state, "stopped");
  EXPECT_EQ(ended[0].reason, "stopped before the first step");
  auto commands = pick<send_command>(stopped.then);
  ASSERT_THAT(commands, SizeIs(2));
  EXPECT_EQ(commands[0].what.kind, command_kind::release);
}

TEST_F(asking, who_resumes_hears_of_each_loss_once) {
  past_.alive.emplace();
  past_.lost = {{"w2", 1}};
  second_.core.resume(past_, term{2});
  std::vector<std::string> lost;
  for (const events::worker_lost& one : told<events::worker_lost>(
           second_.core.take(data_prepared{second_.set()}, second_.now)))
    lost.push_back(one.worker);
  EXPECT_THAT(lost, ElementsAre("w1", "w3"));
}

TEST_F(asking, a_stop_counts_while_one_is_left_or_nobody_asked_again) {
  ask(first_.core.ask(stop_run{true}));
  for (bool again : {false, true}) {
    past_.asked_again = again;
    past_.alive.emplace();
    if (again)
      past_.alive->insert("w1");
    driver next{true};
    next.core.resume(past_, term{2});
    EXPECT_TRUE(next.core.run().requests.stops()) << again;
  }
}

TEST_F(asking, a_pause_under_way_is_kept) {
  auto answer = first_.core.ask(pause_request{});
  ASSERT_FALSE(answer.then.empty());
  EXPECT_TRUE(std::holds_alternative<journal_requests>(answer.then[0]));
  ask(answer);
  restart();
  EXPECT_TRUE(stand_still());
}

TEST_F(asking, a_pause_that_is_over_is_over) {
  ask(first_.core.ask(pause_request{}));
  for (worker_id who : first_.workers)
    first_.core.take(worker_paused{who, generation{1}, step_number{0}},
                     first_.now);
  auto answer = first_.core.ask(resume_request{});
  ASSERT_FALSE(answer.then.empty());
  EXPECT_TRUE(std::holds_alternative<journal_requests>(answer.then[0]));
  ask(answer);
  restart();
  EXPECT_FALSE(stand_still());
}

TEST_F(asking, a_checkpoint_that_is_not_made_yet_is_made_by_the_next_one) {
  auto answer = first_.core.ask(checkpoint_request{});
  ASSERT_FALSE(answer.then.empty());
  EXPECT_TRUE(std::holds_alternative<journal_requests>(answer.then[0]));
  ask(answer);
  restart();
  size_t told = 0;
  for (const send_command& one : pick<send_command>(second_.begun))
    told += one.what.kind == command_kind::checkpoint ? 1 : 0;
  EXPECT_EQ(told, 1u);
}

TEST_F(asking, names_of_processes_that_live_are_not_given_again) {
  // One of them joined too shortly before the end for a membership.
  past_.alive = {"w1", "w2", "w3", "w7"};
  ask(first_.core.ask(scale_request{4}));
  restart();
  next_members();
  EXPECT_THAT(started_, ElementsAre("w8"));
}

// Its process came back to the coordinator in between, which died before any
// membership knew of that.
TEST_F(asking, one_that_joined_anew_is_not_waited_for_and_not_killed) {
  second_.core.resume(past_, term{2});
  second_.core.take(data_prepared{second_.set()}, second_.now);
  auto joined = second_.join("w2");
  ASSERT_TRUE(joined.accepted);
  EXPECT_THAT(second_.core.fence()->awaited(), SizeIs(2));
  // Both are gone with it: nobody waits for its name.
  second_.core.take(process_ended{"w2", killed_by(9)}, second_.now);
  auto started =
      pick<start_worker>(second_.core.take(clock_tick{}, second_.now));
  ASSERT_EQ(started.size(), 1u);
  EXPECT_EQ(started[0].name, "w4");
}

// That it comes back does not say that it has ever loaded its rows.
TEST_F(asking, one_that_returns_without_a_step_may_fail_by_itself) {
  past_.undone = true; // others have done steps, which are undone
  second_.core.resume(past_, term{2});
  second_.core.take(data_prepared{second_.set()}, second_.now);
  for (worker_id who : first_.workers) {
    worker_hello hello{
        first_.core.name_of(who), 100, "host", "cpu", "b1", "http://m"};
    hello.was = who;
    hello.run = "test-1";
    EXPECT_TRUE(second_.core.hello(hello, second_.now).accepted);
  }
  auto place = pick<balance::place_shares>(second_.recover(step_number{0}));
  ASSERT_EQ(place.size(), 1u);
  second_.place(place[0]);
  worker_failed word;
  word.worker = first_.workers[1];
  word.generation = second_.core.generation()->number;
  word.code = errc::unreachable;
  second_.core.take(word, second_.now);
  EXPECT_TRUE(second_.core.active()) << second_.core.reason();
}

TEST_F(asking, what_is_kept_survives_the_disk) {
  standing_requests all = past_.asked;
  all.copy = step_number{7};
  all.leaving = {worker_id{2}};
  all.paused = true;
  all.stop = {true};
  auto back = nlohmann::json(nlohmann::json(all)).get<standing_requests>();
  EXPECT_THAT(back.leaving, ElementsAre(worker_id{2}));
  EXPECT_TRUE(back.paused);
  ASSERT_TRUE(back.stop);
  EXPECT_TRUE(back.stop->by_signal);
  EXPECT_EQ(back.copy, step_number{7});
  auto early = nlohmann::json{{"leaving", nlohmann::json::array()}}
                   .get<standing_requests>();
  EXPECT_FALSE(early.paused);
  EXPECT_FALSE(early.stop);
  EXPECT_FALSE(early.copy);
}

TEST_F(asking, nothing_is_done_where_nothing_was_asked) {
  restart();
  EXPECT_THAT(next_members(), ElementsAre("w1", "w2", "w3"));
  EXPECT_THAT(started_, SizeIs(0));
}

// Its number may be given again: no membership names it.
TEST_F(asking, one_that_never_trained_is_not_remembered) {
  past_.asked.leaving = {worker_id{9}};
  auto resumed = second_.core.resume(past_, term{2});
  auto journaled = pick<journal_requests>(resumed.then);
  ASSERT_EQ(journaled.size(), 1u);
  EXPECT_THAT(journaled[0].what.leaving, SizeIs(0));
}

} // namespace
} // namespace ballast::coordinator
