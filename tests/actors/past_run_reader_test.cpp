// Goal: the next coordinator knows of every plan why it was made, and whether
// an event has told how it ended; and what balancing came to, what was
// evaluated and how long recoveries took. Method: a journal as an earlier life
// leaves it.
#include "actors/past_run_reader.hpp"

#include "runtime/job/job.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ballast::actors {
namespace {

store::journaled_plan some_plan(uint64_t number, uint64_t of,
                                const char* reason) {
  store::journaled_plan out;
  out.body.number = plan_number{number};
  out.body.generation = generation{of};
  out.note.reason = reason;
  return out;
}

coordinator::past_run read(std::vector<store::journaled_telling> told,
                           const std::string& undone = "") {
  store::temp_folder folder;
  std::ofstream(folder / "steps.jsonl") << "";
  std::ofstream(folder / "events.jsonl")
      << R"({"kind":"worker_lost","worker":"w1","incarnation":2})"
      << "\n"
      << R"({"kind":"note","text":"\"worker_lost\" is in this"})"
      << "\n"
      << R"({"kind":"worker_lost","wor)"
      << "\n";
  if (!undone.empty())
    std::ofstream(folder / "undone.jsonl") << undone;
  store::journal_content journal;
  store::journaled_run& run = journal.run.emplace();
  run.name = "run-1";
  run.seed = 1;
  run.job = to_json(*parse_job(R"({
    "data": {"train": {"format": "synthetic", "rows": 100, "classes": 4}},
    "model": {"kind": "mlp"}})",
                               {}, "/")
                         .value);
  journal.plans = {some_plan(1, 1, "placement"), some_plan(2, 1, "skew"),
                   some_plan(3, 1, "size"), some_plan(4, 1, "size"),
                   some_plan(5, 1, "coverage")};
  journal.plans[0].effective =
      ledger::position{epoch_number{1}, step_number{1}};
  journal.plans[0].note.shares = {{worker_id{1}, 50, 0.25},
                                  {worker_id{2}, 50, 0.5}};
  journal.plans[2].effective =
      ledger::position{epoch_number{1}, step_number{4}};
  for (size_t i = 1; i < 5; ++i) {
    const uint64_t rows = 10 * (i + 1);
    journal.plans[i].note.balance = balance::plan_note::of_balance{
        i == 1   ? balance::balance_cause::skew
        : i == 4 ? balance::balance_cause::coverage
                 : balance::balance_cause::size,
        1.5,
        rows,
        10 * rows,
        rows,
        rows - 5,
        plan_number{i < 4 ? 1u : 4u}};
  }
  journal.told = std::move(told);
  journal.recoveries = {{"worker w2 lost: its process is gone", 75.5}};
  journal.restarts = {step_number{6}};
  for (uint64_t epoch : {1, 2}) {
    evaluation_report& one = journal.evaluations.emplace_back();
    one.epoch = epoch_number{epoch};
    one.step = step_number{3 * epoch};
    one.loss = 0.5 / double(epoch);
    one.wall_ns = 1000;
  }
  return read_past_run(folder.path(), journal);
}

TEST(past_run_reader, says_of_which_losses_an_event_tells) {
  const std::set<std::pair<std::string, uint32_t>> w1{{"w1", 2}};
  EXPECT_EQ(read({}).lost, w1);
}

TEST(past_run_reader, says_of_which_plans_an_event_tells) {
  coordinator::past_run past = read({{plan_number{1}, generation{1}, false},
                                     {plan_number{3}, generation{1}, false}});
  ASSERT_EQ(past.plans.size(), 5u);
  EXPECT_TRUE(past.plans[0].told);
  EXPECT_FALSE(past.plans[1].told) << "only that it was offered";
  EXPECT_TRUE(past.plans[2].told);
  EXPECT_EQ(past.plans[1].note.reason, "skew");
}

// It was never journaled, so the next coordinator gave its number again.
TEST(past_run_reader, does_not_take_one_plan_for_another_of_its_number) {
  coordinator::past_run past = read({{plan_number{2}, generation{7}, true},
                                     {plan_number{3}, generation{1}, true}});
  EXPECT_FALSE(past.plans.at(1).told);
  EXPECT_TRUE(past.plans.at(2).told);
}

TEST(past_run_reader, counts_what_balancing_came_to) {
  // Plans 2 and 3 belong to one round: its bound is that of the last of them.
  // The last one took effect, and its coordinator died before it journaled
  // that; the one before was dropped.
  coordinator::past_run past = read({{plan_number{2}, generation{1}, false},
                                     {plan_number{4}, generation{1}, true},
                                     {plan_number{5}, generation{1}, false}});
  EXPECT_EQ(past.balance.plans, 3u);
  EXPECT_EQ(past.balance.moved_rows, 20u + 30 + 50);
  EXPECT_EQ(past.balance.moved_by_skew, 20u);
  EXPECT_EQ(past.balance.moved_by_coverage, 50u);
  EXPECT_EQ(past.balance.moved_bytes, 200u + 300 + 500);
  EXPECT_EQ(past.balance.bound_rows, 25u + 45);
  EXPECT_EQ(past.balance.skew_start, 0.5) << "that of the first placement";
}

TEST(past_run_reader, takes_the_rest_from_the_journal_too) {
  coordinator::past_run past = read({});
  ASSERT_TRUE(past.test);
  EXPECT_EQ(past.test->epoch, epoch_number{2});
  EXPECT_EQ(past.test->loss, 0.25);
  EXPECT_EQ(past.evaluated_ns.at(step_number{3}), 1000u);
  ASSERT_EQ(past.recoveries.size(), 1u);
  EXPECT_EQ(past.recoveries[0].first, "worker w2 lost: its process is gone");
  EXPECT_EQ(past.recoveries[0].second, 75.5);
  EXPECT_TRUE(past.restarts.contains(step_number{6}));
}

TEST(past_run_reader, counts_how_often_steps_were_undone) {
  auto times = [](const std::string& undone) {
    return read({}, undone).undone;
  };
  const std::string first = "{\"step\":7}\n{\"step\":8}\n";
  EXPECT_EQ(times(""), 0u);
  EXPECT_EQ(times(first), 1u);
  EXPECT_EQ(times(first + first), 2u);
  EXPECT_EQ(times(first + "{\"step\":40}\n"), 2u);
  EXPECT_EQ(times(first + "{\"st"), 1u) << "its writer died";
  EXPECT_EQ(times("{\"st"), 1u);
}

} // namespace
} // namespace ballast::actors
