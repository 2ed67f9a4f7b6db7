// Goal: what users asked for while a run went on is journaled at once, and a
// restarted coordinator keeps to it. Method: two lives of a coordinator; the
// second one gets what the first one journaled.
#include "coordinator_driver.hpp"

#include "runtime/coordinator_status.hpp"

#include <gmock/gmock.h>

namespace ballast {
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
    first_.core.on_submit(long_job(), "test-1", term{1});
    begun_ = first_.core.on_prepared(first_.set(), first_.now);
    auto place = pick<place_shares>(begun_);
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
    past_.plans = {{journaled[0].what, journaled[0].effective}};
  }

  /// Keeps what is journaled for the next life.
  failure ask(const coordinator_core::reply& answer) {
    for (const journal_requests& one : pick<journal_requests>(answer.then))
      past_.asked = one.what;
    return answer.refused;
  }

  /// The second life, up to the first step after its recovery.
  void restart() {
    second_.core.on_resume(past_, term{2});
    prepared_ = second_.core.on_prepared(second_.set(), second_.now);
    for (worker_id who : first_.workers) {
      worker_hello hello{
          first_.core.name_of(who), 100, "host", "cpu", "b1", "http://m"};
      hello.was = who;
      hello.run = "test-1";
      EXPECT_TRUE(second_.core.on_hello(hello, second_.now).accepted);
    }
    auto place = pick<place_shares>(second_.recover(step_number{0}));
    ASSERT_EQ(place.size(), 1u);
    second_.place(place[0]);
    second_.apply_steps(1);
  }

  /// Who is to train next; the same as now where nothing is to change.
  std::vector<std::string> next_members() {
    actions then = second_.core.on_tick(second_.now);
    for (const start_worker& one : pick<start_worker>(then))
      started_.push_back(one.name);
    auto place = pick<place_shares>(then);
    std::vector<std::string> out;
    for (worker_id who : place.empty()
                             ? second_.core.current()->members->workers
                             : place[0].workers)
      out.push_back(second_.core.name_of(who));
    return out;
  }

  driver first_{true};
  driver second_{true};
  past_run past_;
  actions begun_;
  actions prepared_;
  std::vector<std::string> started_;
};

TEST_F(asking, begins_with_what_the_job_says) {
  auto told = pick<apply_balance>(begun_);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_TRUE(told[0].what.enabled);
  EXPECT_EQ(told[0].what.skew_tv, 0.1);
}

TEST_F(asking, another_balance_is_journaled_before_it_is_applied) {
  auto answer = first_.core.set_balance(std::nullopt, 0.3);
  ASSERT_THAT(answer.then, SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<journal_requests>(answer.then[0]));
  const auto& applied = std::get<apply_balance>(answer.then[1]).what;
  EXPECT_TRUE(applied.enabled) << "what is not given stays";
  EXPECT_EQ(applied.skew_tv, 0.3);
  EXPECT_EQ(std::get<write_event>(answer.then[2]).kind, "set_balance");
  auto status = status_json(first_.core, first_.now)["balance"];
  EXPECT_EQ(status["skew_tv"], 0.3);
  EXPECT_EQ(status["enabled"], true);
}

TEST_F(asking, nonsense_changes_nothing) {
  ask(first_.core.set_balance(false, 0.25));
  for (double wrong : {-0.1, 1.01, -1e300, 1e300}) {
    auto answer = first_.core.set_balance(true, wrong);
    EXPECT_EQ(answer.refused.message, "/skew_tv: expected 0 to 1");
    EXPECT_THAT(answer.then, SizeIs(0));
  }
  EXPECT_EQ(first_.core.set_balance({}, {}).refused.message,
            "set_balance: give \"enabled\" or \"skew_tv\"");
  // Also not the half that was right.
  auto status = status_json(first_.core, first_.now)["balance"];
  EXPECT_EQ(status["enabled"], false);
  EXPECT_EQ(status["skew_tv"], 0.25);
  for (double edge : {0, 1})
    EXPECT_FALSE(first_.core.set_balance({}, edge).refused);
  driver idle;
  EXPECT_EQ(idle.core.set_balance(true, {}).refused.message,
            "no run trains here");
}

TEST_F(asking, another_balance_outlives_the_coordinator) {
  ask(first_.core.set_balance(false, std::nullopt));
  ask(first_.core.set_balance(std::nullopt, 0.3));
  restart();
  auto told = pick<apply_balance>(prepared_);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_FALSE(told[0].what.enabled);
  EXPECT_EQ(told[0].what.skew_tv, 0.3);
}

TEST_F(asking, who_resumes_with_another_job_has_asked_anew) {
  ask(first_.core.set_balance(false, 0.3));
  ask(first_.core.scale(2));
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
  ask(first_.core.drain("w2"));
  restart();
  EXPECT_THAT(next_members(), ElementsAre("w1", "w3"));
}

TEST_F(asking, fewer_workers_stay_fewer) {
  ask(first_.core.scale(2));
  restart();
  EXPECT_THAT(next_members(), ElementsAre("w1", "w2"));
  EXPECT_THAT(started_, SizeIs(0));
}

TEST_F(asking, more_workers_are_started) {
  ask(first_.core.scale(5));
  restart();
  next_members();
  EXPECT_THAT(started_, ElementsAre("w4", "w5"));
}

TEST_F(asking, nothing_is_done_where_nothing_was_asked) {
  restart();
  EXPECT_THAT(next_members(), ElementsAre("w1", "w2", "w3"));
  EXPECT_THAT(started_, SizeIs(0));
}

// Its number may be given again: no membership names it.
TEST_F(asking, one_that_never_trained_is_not_remembered) {
  first_.join("w9");
  ask(first_.core.drain("w9"));
  ASSERT_THAT(past_.asked.leaving, SizeIs(1));
  auto resumed = second_.core.on_resume(past_, term{2});
  auto journaled = pick<journal_requests>(resumed.then);
  ASSERT_EQ(journaled.size(), 1u);
  EXPECT_THAT(journaled[0].what.leaving, SizeIs(0));
}

} // namespace
} // namespace ballast
