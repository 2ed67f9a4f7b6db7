// Goal: what a run publishes is copied to the place of its job with all that it
// takes to go on, nobody waits for it, and what goes wrong there is told and
// costs the run nothing. Method: a run's files, and a folder as the place; a
// pipe in the place of one of the run's files holds a copy up.
#include "actors/run_record.hpp"
#include "data/copies/fetched_copy.hpp"
#include "tests/data/model/played_state.hpp"
#include "tests/store/temp_folder.hpp"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace ballast::actors {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

class copies : public ::testing::Test {
protected:
  copies() {
    what_.name = "copied";
    record_.emplace(what_, (folder_ / "run").string(), folder_.path(), "token",
                    coordinator_addresses{});
  }
  void open(const std::string& identity = "abc", uint64_t term = 1) {
    record_->checkpoints().copies().open(
        {place_.string(), {"run", identity, term}, 2});
  }
  void publish(uint64_t step) {
    run_checkpoints& kept = record_->checkpoints();
    (void)kept.publish({{epoch_number{1}, step_number{step}},
                        generation{1},
                        plan_number{1},
                        5},
                       data::all_of(data::state_of(step)),
                       {.keep = 1, .history = kept.history()});
  }
  void finish() {
    record_->checkpoints().copies().finish("stopped", step_number{9});
  }
  std::vector<uint64_t> there() const {
    std::vector<uint64_t> out;
    for (const auto& one : data::copy_place(place_.string()).checkpoints())
      out.push_back(value(one.step));
    return out;
  }
  /// What an event of this kind names.
  std::vector<nlohmann::json> told(const std::string& kind,
                                   const std::string& what) const {
    std::vector<nlohmann::json> out;
    std::ifstream in(folder_ / "run" / "events.jsonl");
    for (std::string line; std::getline(in, line);)
      if (const auto one = nlohmann::json::parse(line); one["kind"] == kind)
        out.push_back(one[what]);
    return out;
  }

  store::temp_folder folder_;
  fs::path place_ = folder_ / "place";
  job what_;
  std::optional<run_record> record_;
};

TEST_F(copies, hold_what_a_run_directory_had) {
  open();
  publish(5);
  finish();
  EXPECT_THAT(there(), ElementsAre(5));
  EXPECT_THAT(told("checkpoint_copied", "step"), ElementsAre(5));
  const auto [again, got] = data::fetch_run(data::copy_place(place_.string()),
                                            folder_ / "again", "", {});
  EXPECT_EQ(got.step, step_number{5});
  for (const char* name :
       {"ledger.sqlite", "events.jsonl", "steps.jsonl", "job.json", "run.key"})
    EXPECT_TRUE(fs::exists(again / name)) << name;
  const auto status = record_->checkpoints().copies().status();
  ASSERT_TRUE(status);
  EXPECT_EQ(status->step, step_number{5});
  EXPECT_EQ(status->trouble, "");
}

TEST_F(copies, are_of_the_newest_where_one_takes_long) {
  const fs::path held = folder_ / "run" / "undone.jsonl";
  ASSERT_EQ(::mkfifo(held.c_str(), 0600), 0);
  open();
  publish(5);
  while (!fs::exists(place_ / "step-5" / "state.json"))
    std::this_thread::yield();
  publish(6); // whose name the next one takes
  publish(7);
  EXPECT_THAT(there(), IsEmpty());
  const unique_fd writer(::open(held.c_str(), O_RDWR | O_CLOEXEC));
  finish();
  EXPECT_THAT(there(), ElementsAre(5, 7));
  EXPECT_THAT(told("checkpoint_not_copied", "step"), ElementsAre(6));
}

TEST_F(copies, beyond_those_that_are_kept_are_removed) {
  open();
  for (uint64_t step : {5, 6, 7}) {
    publish(step);
    while (record_->checkpoints().copies().status()->step != step_number{step})
      std::this_thread::yield();
  }
  finish();
  EXPECT_THAT(there(), ElementsAre(6, 7));
}

TEST_F(copies, of_undone_steps_give_way_to_the_next) {
  open();
  publish(7);
  while (record_->checkpoints().copies().status()->step != step_number{7})
    std::this_thread::yield();
  record_->checkpoints().undo_after(step_number{4});
  EXPECT_THAT(there(), ElementsAre(7));
  publish(5);
  finish();
  EXPECT_THAT(there(), ElementsAre(5));
}

TEST_F(copies, are_not_made_in_the_place_of_another_run) {
  data::copy_place(place_.string()).own({"first", "other", 1});
  open();
  publish(5);
  finish();
  EXPECT_THAT(there(), IsEmpty());
  EXPECT_THAT(record_->checkpoints().copies().status()->trouble,
              HasSubstr("holds the copies of another run, first"));
  EXPECT_FALSE(told("checkpoint_not_copied", "step").empty());
  EXPECT_TRUE(fs::exists(folder_ / "run" / "checkpoints" / "step-5"));
}

TEST_F(copies, are_left_to_a_later_coordinator) {
  data::copy_place(place_.string()).own({"run", "abc", 2});
  open();
  publish(5);
  finish();
  EXPECT_THAT(there(), IsEmpty());
  EXPECT_THAT(record_->checkpoints().copies().status()->trouble,
              HasSubstr("another coordinator goes on with this run (term 2"));
}

TEST_F(copies, that_failed_are_tried_once_more_at_the_end) {
  std::ofstream(place_) << "a file in the way";
  open();
  publish(5);
  while (record_->checkpoints().copies().status()->trouble.empty())
    std::this_thread::yield();
  fs::remove(place_);
  finish();
  EXPECT_THAT(there(), ElementsAre(5));
  EXPECT_EQ(record_->checkpoints().copies().status()->trouble, "");
}

TEST_F(copies, of_the_model_come_with_what_belongs_to_it) {
  open();
  for (const char* name : {"model.safetensors", "report.json"})
    std::ofstream(folder_ / "run" / name) << name;
  fs::create_directories(folder_ / "run" / "preprocessing");
  std::ofstream(folder_ / "run" / "preprocessing" / "a.json") << "{}";
  record_->checkpoints().copies().finish("done", step_number{9});
  for (const char* name : {"model.safetensors", "report.json", "job.json",
                           "preprocessing/a.json", "manifest.json"})
    EXPECT_TRUE(fs::exists(place_ / "model" / name)) << name;
  EXPECT_EQ(told("model_copied", "to").size(), 1U);
  EXPECT_EQ(data::copy_place(place_.string()).model_manifest()["state"],
            "done");
}

TEST_F(copies, are_not_made_unless_a_job_names_a_place) {
  publish(5);
  finish();
  EXPECT_FALSE(record_->checkpoints().copies().status());
  EXPECT_FALSE(fs::exists(place_));
}

} // namespace
} // namespace ballast::actors
