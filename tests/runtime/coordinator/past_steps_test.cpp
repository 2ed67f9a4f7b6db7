// Goal: a run goes on from checkpoints of its own history only, and no
// checkpoint is lost because a power cut took lines of steps.jsonl. Method: a
// ledger with two plans; lines and identities as an earlier life leaves them,
// then one of them changed.
#include "runtime/coordinator/past_steps.hpp"

#include "tests/runtime/coordinator/plain_set.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>

namespace ballast::coordinator {
namespace {

constexpr uint64_t beginning = 17;

/// 100 rows on two workers, batches of 10: 10 steps an epoch, 3 epochs. From
/// step 6 on worker 1 is alone, under plan 2 of generation 2.
struct past_steps_of : ::testing::Test {
  void SetUp() override {
    std::vector<worker_id> both{worker_id{1}, worker_id{2}};
    ledger::manifest set = testing::plain_set(std::vector<uint32_t>(10, 10));
    ledger::plan first = first_plan(set, both, generation{1}, plan_number{1});
    ledger::plan alone =
        first_plan(set, {worker_id{1}}, generation{2}, plan_number{2});
    record.config = {5, 10, std::vector<uint32_t>(10, 10)};
    record.plans = {{first, ledger::position{}},
                    {alone, {epoch_number{2}, step_number{11}}}};
    past.rows = 100;
    run_tally tally;
    tally.lineage = beginning;
    ledger::ledger_walk walk(record);
    for (uint64_t step = 1; step <= 25; ++step) {
      bool entered = false;
      ledger::committed_step line = *walk.walk(entered);
      line.loss = 1;
      line.t_ns = step;
      tally.lineage = lineage_after(tally.lineage, line,
                                    entered ? &walk.book().current() : nullptr);
      tally.count(line, 100);
      past.steps.push_back(line);
      identities.push_back(tally.identity());
    }
  }

  void save(uint64_t step) {
    past.checkpoints.push_back(
        {identities.at(step - 1), "step-" + std::to_string(step)});
  }

  void save_in_memory(uint64_t step) {
    past.checkpoints.push_back(
        {identities.at(step - 1), "memory-" + std::to_string(step), true});
  }

  void forget_lines_after(uint64_t step) { past.steps.resize(step); }

  past_steps check() { return check_past_steps(past, record, beginning, 30); }

  /// Where it can go back to, but for the seed.
  static std::vector<uint64_t> points(const past_steps& found) {
    std::vector<uint64_t> out;
    for (const restart_point& one : found.points)
      if (value(one.step()) > 0)
        out.push_back(value(one.step()));
    return out;
  }

  past_run past;
  ledger::recorded_run record;
  std::vector<ledger::checkpoint_identity> identities; // behind each step
};

using steps = std::vector<uint64_t>;

TEST_F(past_steps_of, takes_its_own_checkpoints) {
  save(10);
  save(20);
  past_steps found = check();
  EXPECT_FALSE(found.problem) << found.problem.message;
  EXPECT_EQ(points(found), (steps{10, 20}));
  EXPECT_TRUE(found.refused.empty());
  EXPECT_TRUE(found.lost.empty());
  EXPECT_EQ(found.tally.last.step, step_number{25});
  EXPECT_EQ(found.book->next().step, step_number{26});
  // At the end of an epoch the plan that begins there is not in force yet.
  EXPECT_EQ(found.points[1].book->current().number, plan_number{1});
}

// max_minutes counts over all lives.
TEST_F(past_steps_of, times_steps_without_the_evaluation_before_each) {
  for (ledger::committed_step& line : past.steps)
    line.t_ns *= 1000;
  for (uint64_t after : {10, 15, 20})
    past.evaluated_ns[step_number{after}] = 300;
  EXPECT_EQ(check().tally.timed_ns, 24 * 1000u - 3 * 300u);
}

TEST_F(past_steps_of, takes_those_in_memory_behind_those_on_the_disk) {
  save(10);
  save(20);
  save_in_memory(20);
  past_steps found = check();
  EXPECT_EQ(points(found), (steps{10, 20, 20}));
  EXPECT_FALSE(found.points[2].in_memory);
  EXPECT_TRUE(found.points[3].in_memory);
  EXPECT_TRUE(found.refused.empty());
}

TEST_F(past_steps_of, refuses_one_of_two_of_a_step_where_it_is_another_runs) {
  save(20);
  save_in_memory(20);
  ++past.checkpoints[1].holds.lineage;
  past_steps found = check();
  EXPECT_EQ(points(found), steps{20});
  ASSERT_EQ(found.refused.size(), 1u);
  EXPECT_EQ(found.refused[0].what.file, "memory-20");
}

TEST_F(past_steps_of, refuses_each_checkpoint_that_is_of_something_else) {
  struct {
    const char* what;
    std::function<void(ledger::checkpoint_identity&)> change;
    const char* why;
  } cases[] = {
      {"an undone generation",
       [](auto& one) { one.generation = generation{7}; },
       "it is of generation 7 under plan 2"},
      {"another plan", [](auto& one) { one.plan = plan_number{1}; },
       "under plan 1; the run did step 20 in generation 2 under plan 2"},
      {"another run", [](auto& one) { ++one.lineage; }, "of another run"},
      {"no lineage",
       [](auto& one) {
         one = {ledger::position(one), {}, {}, 0};
       },
       "names no generation"},
      {"a step to come", [](auto& one) { one.step = step_number{29}; },
       "the run has committed only 25 steps"},
      {"a step behind the last", [](auto& one) { one.step = step_number{999}; },
       "the run has committed only 25 steps"},
  };
  save(10);
  save(20);
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    past.checkpoints[1].holds = identities[19];
    c.change(past.checkpoints[1].holds);
    past_steps found = check();
    EXPECT_FALSE(found.problem) << found.problem.message;
    EXPECT_EQ(points(found), steps{10});
    ASSERT_EQ(found.refused.size(), 1u);
    EXPECT_EQ(found.refused[0].what.file, "step-20");
    EXPECT_NE(found.refused[0].why.find(c.why), std::string::npos)
        << found.refused[0].why;
  }
}

TEST_F(past_steps_of, refuses_the_run_where_steps_and_ledger_differ) {
  struct {
    std::function<void(past_steps_of&)> change;
    const char* why;
  } cases[] = {
      {[](auto& t) { t.past.steps[2].samples = 9; },
       "step 3 has samples 9, by the ledger it is 10"},
      {[](auto& t) { t.past.steps[11].plan = plan_number{1}; },
       "step 12 has plan 1, by the ledger it is 2"},
      {[](auto& t) { t.past.steps[11].generation = generation{1}; },
       "step 12 has generation 1, by the ledger it is 2"},
      {[](auto& t) { t.past.steps[4].epoch = epoch_number{2}; },
       "step 5 has epoch 2, by the ledger it is 1"},
      {[](auto& t) { t.past.steps[4].world = 1; },
       "step 5 has world 1, by the ledger it is 2"},
      {[](auto& t) { t.past.steps.erase(t.past.steps.begin() + 4); },
       "after step 4 comes step 6"},
      {[](auto& t) { t.record.plans.pop_back(); },
       "step 11 has generation 2, by the ledger it is 1"},
      {[](auto& t) { t.record.plans.clear(); }, "no plan ever took effect"},
  };
  for (const auto& c : cases) {
    past_run kept = past;
    ledger::recorded_run before = record;
    c.change(*this);
    past_steps found = check();
    EXPECT_EQ(found.problem.code, errc::run_dir_unusable) << c.why;
    EXPECT_NE(found.problem.message.find(c.why), std::string::npos)
        << found.problem.message;
    past = kept;
    record = before;
  }
}

TEST_F(past_steps_of, refuses_checkpoints_where_a_plan_was_changed) {
  save(10);
  save(20);
  auto& one = record.plans[0].body.shares[0].intervals.own();
  auto& other = record.plans[0].body.shares[1].intervals.own();
  std::swap(one[0], other[0]);
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  past_steps found = check();
  EXPECT_FALSE(found.problem)
      << "the steps do not show it: " << found.problem.message;
  EXPECT_EQ(points(found), steps{});
  EXPECT_EQ(found.refused.size(), 2u);
}

TEST_F(past_steps_of, makes_lines_again_that_a_checkpoint_proves) {
  save(10);
  save(20);
  forget_lines_after(13);
  past_steps found = check();
  EXPECT_FALSE(found.problem) << found.problem.message;
  EXPECT_EQ(points(found), (steps{10, 20}));
  ASSERT_EQ(found.lost.size(), 7u);
  EXPECT_EQ(found.lost[0].step, step_number{14});
  EXPECT_EQ(found.lost[6].samples, 10u);
  EXPECT_EQ(found.lost[6].plan, plan_number{2});
  EXPECT_TRUE(std::isnan(found.lost[6].loss));
  EXPECT_EQ(found.tally.last.step, step_number{20});
  EXPECT_EQ(found.tally.samples, 200u);
  EXPECT_EQ(found.book->next().step, step_number{21});
}

TEST_F(past_steps_of, makes_lines_again_that_the_journal_proves) {
  past.committed = step_number{22};
  forget_lines_after(0);
  past_steps found = check();
  EXPECT_EQ(found.lost.size(), 22u);
  EXPECT_EQ(found.tally.identity(), identities[21]);
}

TEST_F(past_steps_of, does_not_take_the_word_of_a_strange_checkpoint) {
  save(20);
  ++past.checkpoints[0].holds.lineage;
  forget_lines_after(13);
  past_steps found = check();
  EXPECT_TRUE(found.lost.empty());
  EXPECT_EQ(found.tally.last.step, step_number{13});
  EXPECT_EQ(found.book->next().step, step_number{14});
  EXPECT_EQ(found.refused.size(), 1u);
}

TEST_F(past_steps_of, averages_the_loss_over_steps_that_have_one) {
  save(10);
  forget_lines_after(4);
  past_steps found = check();
  EXPECT_EQ(found.tally.train_loss, 1);
}

} // namespace
} // namespace ballast::coordinator
