// Goal: a checkpoint is published only once a power cut cannot take what it
// depends on. Method: a run's files, and a sync that fails on purpose.
#include "actors/run_record.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/model/played_state.hpp"
#include "tests/store/temp_folder.hpp"

#include <gtest/gtest.h>

#ifndef BALLAST_NO_FAULT_POINTS
namespace ballast::actors {
namespace {

TEST(run_record_checkpoints, are_not_published_before_their_steps_are_synced) {
  store::temp_folder folder;
  job what;
  what.name = "synced";
  run_record record(what, (folder / "run").string(), folder.path(), "token",
                    {});
  const ledger::checkpoint_identity after{
      {epoch_number{1}, step_number{7}}, generation{1}, plan_number{1}, 5};
  auto publish = [&] {
    return record.checkpoints().publish(after, data::all_of("state"), 2,
                                        record.checkpoints().history(), true);
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
