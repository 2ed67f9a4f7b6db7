// Goal: a checkpoint is there and whole, or not there. Method: files as a
// writer leaves them that was killed, or a disk that lies.
#include "data/model/checkpoint_store.hpp"

#include "tests/data/model/played_state.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/small_disk.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <utility>

namespace ballast::data {
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

  static ledger::checkpoint_identity identity(uint64_t step) {
    return {{epoch_number{1}, step_number{step}},
            generation{2},
            plan_number{3},
            0xfedcba9876543210};
  }

  void publish(uint64_t step) {
    checkpoint_store store(folder);
    store.stage(identity(step), "run", all_of(state_of(step)));
    store.publish(identity(step));
  }

  std::vector<uint64_t> whole() {
    std::vector<uint64_t> out;
    for (const stored_checkpoint& one : checkpoint_store(folder).inspect())
      if (one.problem.empty())
        out.push_back(value(one.holds.step));
    return out;
  }

  std::string problems() {
    std::string out;
    for (const stored_checkpoint& one : checkpoint_store(folder).inspect())
      out += to_string(one.holds.step) + ": " + one.problem + "\n";
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

TEST_F(checkpoints, wait_for_space_where_a_file_may_not_grow) {
  store::small_disk full(4); // EFBIG
  EXPECT_FAILURE(publish(10), errc::disk_full, "cannot write");
  EXPECT_TRUE(names().empty()) << "what does not fit is taken back";
}

TEST_F(checkpoints, are_found_with_what_they_hold) {
  EXPECT_EQ(whole(), steps{});
  for (uint64_t step : {5, 10, 100})
    publish(step);
  EXPECT_EQ(whole(), (steps{5, 10, 100}));
  EXPECT_EQ(checkpoint_store(folder).inspect()[1].holds, identity(10));
  checkpoint_store(folder).remove(step_number{5});
  EXPECT_EQ(names(), (std::vector<std::string>{"step-10", "step-100"}));
}

TEST_F(checkpoints, are_not_there_before_they_are_published) {
  checkpoint_store store(folder);
  store.stage(identity(4), "run", all_of("state"));
  EXPECT_EQ(whole(), steps{});
  store.drop(identity(4));
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(checkpoints, keep_nothing_of_a_state_that_stops_coming) {
  checkpoint_store store(folder);
  const state_source stops{
      100, [](const unfinished_state& into) -> std::vector<state_part> {
        into.write(0, "sta");
        throw ballast_error(errc::unreachable, "gone");
      }};
  EXPECT_THROW(store.stage(identity(4), "run", stops), ballast_error);
  EXPECT_EQ(names(), std::vector<std::string>{});
}

TEST_F(checkpoints, are_passed_over_by_name_where_torn_or_damaged) {
  for (uint64_t step : {1, 2, 3, 4, 5, 6})
    publish(step);
  fs::resize_file(folder / "step-1" / "state.safetensors", 3);
  std::ofstream(folder / "step-2" / "state.safetensors") << state_of(9);
  fs::remove(folder / "step-3" / "manifest.json");
  std::ofstream(folder / "step-5" / "manifest.json") << "{";
  fs::remove_all(folder / "step-6");
  fs::copy(folder / "step-4", folder / "step-6");
  const std::string zeroed = '\0' + state_of(8).substr(1);
  for (const auto& [step, state] :
       {std::pair(uint64_t{7}, state_of(5)), std::pair(uint64_t{8}, zeroed)}) {
    checkpoint_store(folder).stage(identity(step), "run", all_of(state));
    checkpoint_store(folder).publish(identity(step));
  }
  EXPECT_EQ(whole(), steps{4});
  EXPECT_EQ(problems(), "1: its state has 3 bytes of 37\n"
                        "2: its state does not match its checksum in bytes 18 "
                        "to 37 (part 2 of 2)\n"
                        "3: its manifest.json is missing\n"
                        "4: \n"
                        "5: its manifest.json cannot be read\n"
                        "6: its manifest is of step 4\n"
                        "7: its state is that of step 5\n"
                        "8: its state has no header that names its step\n");
}

TEST_F(checkpoints, are_named_where_pipes_and_folders_stand_for_their_files) {
  for (uint64_t step : {1, 2, 3, 4, 5})
    publish(step);
  const auto at = [&](int step, const char* name) {
    const fs::path out = folder / ("step-" + std::to_string(step)) / name;
    fs::remove(out);
    return out;
  };
  fs::create_directory(at(1, "manifest.json"));
  ASSERT_EQ(::mkfifo(at(2, "manifest.json").c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(at(3, "state.safetensors").c_str(), 0600), 0);
  fs::create_symlink("manifest.json", at(5, "manifest.json")); // to itself
  EXPECT_EQ(problems(), "1: its manifest.json is no file\n"
                        "2: its manifest.json is no file\n"
                        "3: its state.safetensors is no file\n"
                        "4: \n"
                        "5: its manifest.json is missing\n");
}

TEST_F(checkpoints, are_only_what_has_the_name_of_one) {
  publish(80);
  for (const char* name : {"step-", "step-080", "step-0", "step-8x"})
    fs::create_directory(folder / name);
  EXPECT_EQ(checkpoint_store(folder).list().size(), 1u);
}

TEST_F(checkpoints, lose_their_name_before_they_are_removed) {
  publish(1);
  publish(2);
  // Killed while it removed the first one.
  fs::rename(folder / "step-1", folder / ".removed-1");
  fs::remove(folder / ".removed-1" / "manifest.json");
  EXPECT_EQ(checkpoint_store(folder).inspect().size(), 1u);
  checkpoint_store(folder).remove_unfinished();
  EXPECT_EQ(names(), std::vector<std::string>{"step-2"});
  publish(1);
  checkpoint_store(folder).remove(step_number{1});
  EXPECT_EQ(names(), std::vector<std::string>{"step-2"});
}

TEST_F(checkpoints, removes_what_a_killed_writer_left_unfinished) {
  fs::create_directory(folder / ".unfinished-7");
  std::ofstream(folder / ".unfinished-7" / "state.safetensors") << "half";
  EXPECT_EQ(whole(), steps{});
  publish(8);
  checkpoint_store(folder).remove_unfinished();
  EXPECT_EQ(names(), std::vector<std::string>{"step-8"});
}

TEST_F(checkpoints, keep_aside_one_of_a_step_that_is_done_again) {
  publish(3);
  fs::resize_file(folder / "step-3" / "state.safetensors", 1);
  publish(3);
  EXPECT_EQ(whole(), steps{3});
  EXPECT_EQ(fs::file_size(folder / "aside-1" / "step-3" / "state.safetensors"),
            1u);
}

TEST_F(checkpoints, keep_aside_those_behind_a_step) {
  for (int round : {1, 2}) {
    for (uint64_t step : {1, 2, 3})
      if (round == 1 || step > 1)
        publish(step);
    EXPECT_EQ(checkpoint_store(folder).set_aside_after(step_number{1}), 2u);
    EXPECT_EQ(whole(), steps{1});
  }
  EXPECT_EQ(checkpoint_store(folder).set_aside_after(step_number{1}), 0u);
  EXPECT_EQ(names(),
            (std::vector<std::string>{"aside-1", "aside-2", "step-1"}));
  EXPECT_TRUE(fs::exists(folder / "aside-2" / "step-3" / "manifest.json"));
}

} // namespace
} // namespace ballast::data
