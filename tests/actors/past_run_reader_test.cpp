// Goal: the next coordinator knows of every plan why it was made, and whether
// an event has told how it ended. Method: a journal and events as an earlier
// life leaves them.
#include "actors/past_run_reader.hpp"

#include "runtime/job/job.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>
#include <gtest/gtest.h>

namespace ballast {
namespace {

journaled_plan some_plan(uint64_t number, uint64_t of, const char* reason) {
  journaled_plan out;
  out.body.number = plan_number{number};
  out.body.generation = generation{of};
  out.note.reason = reason;
  return out;
}

past_run read(const std::string& events) {
  temp_folder folder;
  std::ofstream(folder / "events.jsonl") << events;
  std::ofstream(folder / "steps.jsonl") << "";
  journal_content journal;
  journaled_run& run = journal.run.emplace();
  run.name = "run-1";
  run.seed = 1;
  run.job = to_json(*parse_job(R"({
    "data": {"train": {"format": "synthetic", "rows": 100, "classes": 4}},
    "model": {"kind": "mlp"}})",
                               {}, "/")
                         .value);
  journal.plans = {some_plan(1, 1, "placement"), some_plan(2, 1, "skew"),
                   some_plan(3, 1, "size")};
  return read_past_run(folder.path(), journal);
}

TEST(past_run_reader, says_of_which_plans_an_event_tells) {
  past_run past =
      read(R"({"kind":"plan","plan":1,"generation":1,"outcome":"effective"})"
           "\n"
           R"({"kind":"plan","plan":2,"generation":1,"outcome":"offered"})"
           "\n"
           R"({"kind":"balance","plan":3,"generation":1})"
           "\n");
  ASSERT_EQ(past.plans.size(), 3u);
  EXPECT_TRUE(past.plans[0].told);
  EXPECT_FALSE(past.plans[1].told) << "only that it was offered";
  EXPECT_TRUE(past.plans[2].told);
  EXPECT_EQ(past.plans[1].note.reason, "skew");
}

// It was never journaled, so the next coordinator gave its number again.
TEST(past_run_reader, does_not_take_one_plan_for_another_of_its_number) {
  past_run past =
      read(R"({"kind":"plan","plan":2,"generation":7,"outcome":"dropped"})"
           "\n"
           R"({"kind":"plan","plan":3,"generation":1,"outcome":"dropped"})"
           "\n");
  EXPECT_FALSE(past.plans.at(1).told);
  EXPECT_TRUE(past.plans.at(2).told);
}

} // namespace
} // namespace ballast
