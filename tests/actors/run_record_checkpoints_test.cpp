// Goal: a checkpoint is published only once a power cut cannot take what it
// depends on. Method: a run's files, and a sync that fails on purpose.
#include "actors/run_record.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/model/played_state.hpp"
#include "tests/store/temp_folder.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <optional>
#include <vector>

#ifndef BALLAST_NO_FAULT_POINTS
namespace ballast::actors {
namespace {

/// A run with a checkpoint of step 5 on the disk, and one of step 7 in memory.
class in_memory : public ::testing::Test {
protected:
  in_memory() {
    what_.name = "in-memory";
    record_.emplace(what_, (folder_ / "run").string(), folder_.path(), "token",
                    coordinator_addresses{});
    (void)publish(5, false);
    EXPECT_FALSE(kept().open_memory(1000));
    memory_ = publish(7, true).parent_path();
  }
  ~in_memory() override { kept().close(false); }

  run_checkpoints& kept() { return record_->checkpoints(); }
  std::filesystem::path publish(uint64_t step, bool in_memory) {
    return kept().publish({{epoch_number{1}, step_number{step}},
                           generation{1},
                           plan_number{1},
                           5},
                          data::all_of(data::state_of(step)),
                          {.history = kept().history(),
                           .requested = true,
                           .in_memory = in_memory});
  }
  std::vector<uint64_t> on_disk() const {
    std::vector<uint64_t> out;
    const data::checkpoint_store store(folder_ / "run" / "checkpoints");
    for (const data::stored_checkpoint& one : store.inspect())
      if (one.problem.empty())
        out.push_back(value(one.holds.step));
    return out;
  }
  using steps = std::vector<uint64_t>;

  store::temp_folder folder_;
  job what_;
  std::optional<run_record> record_;
  std::filesystem::path memory_;
};

TEST_F(in_memory, give_way_to_newer_ones_there) {
  EXPECT_EQ(memory_.parent_path().parent_path(), "/dev/shm");
  EXPECT_TRUE(std::filesystem::exists(memory_));
  const auto newer = publish(9, true);
  EXPECT_FALSE(std::filesystem::exists(memory_));
  EXPECT_TRUE(std::filesystem::exists(newer));
  EXPECT_EQ(on_disk(), steps{5});
}

TEST_F(in_memory, go_to_the_disk_at_the_end_of_a_run_that_may_go_on) {
  kept().close(true);
  EXPECT_EQ(on_disk(), (steps{5, 7}));
  EXPECT_FALSE(std::filesystem::exists(memory_.parent_path()));
}

TEST_F(in_memory, are_gone_with_a_run_that_is_done) {
  kept().close(false);
  EXPECT_EQ(on_disk(), steps{5});
  EXPECT_FALSE(std::filesystem::exists(memory_.parent_path()));
}

TEST_F(in_memory, count_no_more_where_their_steps_are_undone) {
  kept().undo_after(step_number{6});
  EXPECT_FALSE(std::filesystem::exists(memory_));
  kept().close(true);
  EXPECT_EQ(on_disk(), steps{5});
}

TEST_F(in_memory, are_removed_where_the_run_cannot_go_on_from_them) {
  kept().refuse({(memory_ / "state.safetensors").string(), "torn"});
  EXPECT_FALSE(std::filesystem::exists(memory_));
  EXPECT_EQ(on_disk(), steps{5});
}

TEST_F(in_memory, that_somebody_removed_are_missed_and_made_again) {
  EXPECT_FALSE(kept().memory_is_gone());
  std::filesystem::remove_all(memory_.parent_path());
  EXPECT_TRUE(kept().memory_is_gone());
  const auto newer = publish(9, true);
  EXPECT_TRUE(std::filesystem::exists(newer));
  EXPECT_FALSE(kept().memory_is_gone());
  std::filesystem::remove_all(newer.parent_path());
  EXPECT_TRUE(kept().memory_is_gone()) << "the folder above is there";
}

TEST_F(in_memory, stay_where_the_disk_does_not_take_them) {
  ASSERT_STREQ(arm_fault_points("checkpoint.write=eio@1"), "");
  kept().close(true);
  arm_fault_points("");
  EXPECT_EQ(on_disk(), steps{5});
  EXPECT_TRUE(std::filesystem::exists(memory_));
  std::filesystem::remove_all(memory_.parent_path());
}

TEST(run_record_checkpoints, are_not_published_before_their_steps_are_synced) {
  store::temp_folder folder;
  job what;
  what.name = "synced";
  run_record record(what, (folder / "run").string(), folder.path(), "token",
                    {});
  const ledger::checkpoint_identity after{
      {epoch_number{1}, step_number{7}}, generation{1}, plan_number{1}, 5};
  auto publish = [&] {
    return record.checkpoints().publish(
        after, data::all_of("state"),
        {.history = record.checkpoints().history(), .requested = true});
  };
  const auto place = folder / "run" / "checkpoints" / "step-7";
  ASSERT_STREQ(arm_fault_points("history.sync=eio@1"), "");
  EXPECT_THROW(publish(), ballast_error);
  EXPECT_FALSE(std::filesystem::exists(place));
  EXPECT_NE(publish(), "");
  EXPECT_TRUE(std::filesystem::exists(place));
  arm_fault_points("");
}

} // namespace
} // namespace ballast::actors
#endif
