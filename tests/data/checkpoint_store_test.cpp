// Goal: a checkpoint is there and whole, or not there. Method: files as a
// writer leaves them that was killed, or a disk that lies.
#include "data/checkpoint_store.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

namespace ballast {
namespace {

namespace fs = std::filesystem;

class checkpoints : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (fs::temp_directory_path() / "ballast-checkpoints-XXXXXX").string();
    ASSERT_TRUE(mkdtemp(pattern.data()));
    folder = pattern;
  }
  void TearDown() override { fs::remove_all(folder); }

  void publish(uint64_t step, uint32_t keep = 2) {
    checkpoint_store(folder).publish(step_number{step}, epoch_number{1}, "run",
                                     "state of " + std::to_string(step), keep);
  }

  std::vector<uint64_t> whole() {
    std::vector<uint64_t> out;
    for (const stored_checkpoint& one : checkpoint_store(folder).list())
      out.push_back(value(one.step));
    return out;
  }

  std::vector<std::string> names() {
    std::vector<std::string> out;
    for (const auto& entry : fs::directory_iterator(folder))
      out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
  }

  fs::path folder;
};

using steps = std::vector<uint64_t>;

TEST_F(checkpoints, keeps_the_newest) {
  EXPECT_EQ(whole(), steps{});
  for (uint64_t step : {5, 10, 100})
    publish(step);
  EXPECT_EQ(whole(), (steps{10, 100}));
  EXPECT_EQ(names(), (std::vector<std::string>{"step-10", "step-100"}));
}

TEST_F(checkpoints, passes_over_what_is_torn_or_damaged) {
  for (uint64_t step : {1, 2, 3, 4})
    publish(step, 4);
  fs::resize_file(folder / "step-1" / "state.safetensors", 3);
  std::ofstream(folder / "step-2" / "state.safetensors") << "state of 9";
  fs::remove(folder / "step-3" / "manifest.json");
  EXPECT_EQ(whole(), steps{4});
}

TEST_F(checkpoints, removes_what_a_killed_writer_left_unfinished) {
  fs::create_directory(folder / ".unfinished-7");
  std::ofstream(folder / ".unfinished-7" / "state.safetensors") << "half";
  EXPECT_EQ(whole(), steps{});
  publish(8);
  checkpoint_store(folder).remove_unfinished();
  EXPECT_EQ(names(), std::vector<std::string>{"step-8"});
}

TEST_F(checkpoints, replaces_one_of_a_step_that_is_done_again) {
  publish(3);
  fs::resize_file(folder / "step-3" / "state.safetensors", 1);
  publish(3);
  EXPECT_EQ(whole(), steps{3});
}

TEST_F(checkpoints, forgets_those_behind_a_step) {
  for (uint64_t step : {1, 2, 3})
    publish(step, 3);
  checkpoint_store(folder).remove_after(step_number{1});
  EXPECT_EQ(whole(), steps{1});
}

} // namespace
} // namespace ballast
