// Goal: a copy is there as a whole or not at all, in a folder as in a store;
// what was changed in it is named, and the one before is taken. Method: folders
// and a real moto server; files that are changed, and a run directory that is
// lost.
#include "data/copies/copy_place.hpp"

#include "data/copies/fetched_copy.hpp"
#include "data/model/checkpoint_store.hpp"
#include "tests/data/model/played_state.hpp"
#include "tests/data/source/moto_server.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

/// In a folder, and in S3: "" or a bucket of the server.
class place_test : public ::testing::TestWithParam<const char*> {
protected:
  void SetUp() override {
    if (std::string(GetParam()).empty()) {
      uri_ = (folder_ / "place").string();
      return;
    }
    static moto_server server;
    if (!server.missing().empty())
      GTEST_SKIP() << server.missing();
    ::setenv("AWS_ACCESS_KEY_ID", "any", 1);
    ::setenv("AWS_SECRET_ACCESS_KEY", "any", 1);
    ::setenv("AWS_EC2_METADATA_DISABLED", "true", 1);
    static int number = 0;
    const std::string bucket = "copies-" + std::to_string(++number);
    ASSERT_EQ(server.request("PUT", "/" + bucket), 200);
    uri_ = server.uri(bucket + "/run");
  }

  /// A copy of a checkpoint, whose run directory has these lines.
  void copy(uint64_t step, const std::string& lines, bool whole = true) {
    const fs::path from = folder_ / "from";
    fs::remove_all(from);
    fs::create_directories(from / "checkpoints");
    ledger::checkpoint_identity holds;
    holds.step = step_number{step};
    const checkpoint_store store(from / "checkpoints");
    store.stage(holds, "run-1", all_of(state_of(step)));
    const fs::path state = store.publish(holds).file;
    write(from / "steps.jsonl", lines);
    write(from / "ledger.sqlite", "a ledger");
    write(from / "run.key", "secret");
    const copy_place to(uri_);
    const std::string name = "step-" + std::to_string(step);
    to.begin(name);
    std::vector<copied_file> files;
    const auto put = [&](const std::string& as, const fs::path& path) {
      auto file = open_to_copy(as, path);
      ASSERT_TRUE(file);
      files.push_back(to.put(name, *file, {}));
    };
    put("state.safetensors", state);
    put("state.json", state.parent_path() / "manifest.json");
    for (const char* one : {"steps.jsonl", "ledger.sqlite", "run.key"})
      put(std::string("run/") + one, from / one);
    if (whole)
      to.complete(name, {{"run", "run-1"}, {"identity", "abc"}, {"step", step}},
                  files);
  }
  std::vector<uint64_t> steps() const {
    std::vector<uint64_t> out;
    for (const found_copy& one : copy_place(uri_).checkpoints())
      out.push_back(value(one.step));
    return out;
  }
  /// In the place itself: something else than what was sent.
  void change(const std::string& folder, const std::string& name,
              const std::string& text) {
    write(folder_ / "changed", text);
    (void)copy_place(uri_).put(folder, *open_to_copy(name, folder_ / "changed"),
                               {});
  }

  store::temp_folder folder_;
  std::string uri_;
};

TEST_P(place_test, has_a_copy_once_its_manifest_is_there) {
  EXPECT_THAT(steps(), IsEmpty());
  copy(5, "five\n");
  copy(9, "nine\n", false);
  EXPECT_THAT(steps(), ElementsAre(5));
  EXPECT_THAT(copy_place(uri_).unfinished(), ElementsAre("step-9"));
  copy(9, "nine\n");
  EXPECT_THAT(copy_place(uri_).unfinished(), IsEmpty());
  EXPECT_THAT(steps(), ElementsAre(5, 9));
  copy_place(uri_).remove("step-5");
  EXPECT_THAT(steps(), ElementsAre(9));
}

TEST_P(place_test, gives_a_run_directory_back) {
  copy(5, "five\n");
  copy(9, "nine\n");
  const auto [folder, got] =
      fetch_run(copy_place(uri_), "", folder_ / "runs", {});
  EXPECT_EQ(folder, folder_ / "runs" / "run-1");
  EXPECT_EQ(got.step, step_number{9});
  EXPECT_EQ(got.damage, "");
  EXPECT_EQ(store::content_of(folder / "steps.jsonl"), "nine\n");
  EXPECT_EQ(fs::status(folder / "run.key").permissions(), fs::perms(0600));
  EXPECT_TRUE(fs::exists(folder / fetched_name));
  const auto found = checkpoint_store(folder / "checkpoints").inspect();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].problem, "");
  EXPECT_EQ(found[0].holds.step, step_number{9});
  // Another one would replace it.
  EXPECT_FAILURE(fetch_run(copy_place(uri_), "", folder_ / "runs", {}),
                 errc::run_dir_unusable, "is there already");
}

TEST_P(place_test, takes_the_one_before_where_a_copy_was_changed) {
  copy(5, "five\n");
  copy(9, "nine\n");
  change("step-9", "run/steps.jsonl", "nein\n");
  const auto [folder, got] =
      fetch_run(copy_place(uri_), folder_ / "again", "", {});
  EXPECT_EQ(got.step, step_number{5});
  EXPECT_THAT(got.damage, HasSubstr("step-9/run/steps.jsonl has the checksum"));
  EXPECT_EQ(store::content_of(folder / "steps.jsonl"), "five\n");
  change("step-5", "state.safetensors", "short");
  EXPECT_FAILURE(fetch_run(copy_place(uri_), folder_ / "third", "", {}),
                 errc::invalid_data, "step-5/state.safetensors has 5 of its");
  EXPECT_FALSE(fs::exists(folder_ / "third"));
}

TEST_P(place_test, refuses_a_manifest_that_names_files_of_this_machine) {
  for (const char* name : {"../run.key", "/etc/passwd", "run/../../a", ""}) {
    copy_place(uri_).begin("step-5");
    copy_place(uri_).complete(
        "step-5", {{"run", "run-1"}, {"identity", "abc"}, {"step", 5}},
        {{name, 1, "0"}});
    EXPECT_FAILURE(fetch_run(copy_place(uri_), folder_ / "again", "", {}),
                   errc::invalid_data, "no name of a copy's file");
  }
}

TEST_P(place_test, gives_back_the_newest_checkpoint_of_that_run) {
  copy(5, "five\n");
  copy(9, "nine\n");
  copy(12, "twelve\n");
  const fs::path checkpoints = folder_ / "checkpoints";
  fs::create_directories(checkpoints);
  const auto fetch = [&](const char* identity, uint64_t after, uint64_t last) {
    return fetch_checkpoint(copy_place(uri_), identity, step_number{after},
                            step_number{last}, checkpoints, {});
  };
  EXPECT_EQ(fetch("other", 0, 99).step, step_number{});
  EXPECT_EQ(fetch("abc", 12, 99).step, step_number{});
  EXPECT_EQ(fetch("abc", 0, 11).step, step_number{9}); // 12 is not of the run
  // One that is damaged here makes room.
  write(checkpoints / "step-9" / "manifest.json", "{");
  EXPECT_EQ(fetch("abc", 0, 11).step, step_number{9});
  EXPECT_TRUE(fs::exists(checkpoints / "aside-1" / "step-9"));
  ASSERT_EQ(checkpoint_store(checkpoints).inspect().size(), 1U);
  EXPECT_EQ(checkpoint_store(checkpoints).inspect()[0].problem, "");
}

TEST_P(place_test, knows_whose_it_is) {
  const copy_place place(uri_);
  EXPECT_FALSE(place.owner());
  place.check_writable();
  EXPECT_FALSE(place.owner());
  place.own({"run-1", "abc", 3});
  const auto owner = place.owner();
  ASSERT_TRUE(owner);
  EXPECT_EQ(owner->run + owner->identity + std::to_string(owner->term),
            "run-1abc3");
}

TEST_P(place_test, gets_a_file_of_many_parts_as_it_is) {
  std::string text(size_t{83} << 20, 'x');
  for (size_t i = 0; i < text.size(); i += 4096)
    text[i] = char('a' + i / 4096 % 26);
  write(folder_ / "large", text);
  const copy_place place(uri_);
  const copied_file sent =
      place.put("step-1", *open_to_copy("large", folder_ / "large"), {});
  place.complete("step-1", {{"run", "r"}, {"identity", "i"}, {"step", 1}},
                 {sent});
  place.fetch(place.checkpoints().at(0), folder_ / "back", {});
  EXPECT_TRUE(store::content_of(folder_ / "back" / "large") == text);
}

INSTANTIATE_TEST_SUITE_P(copies, place_test, ::testing::Values("", "s3"));

TEST(file_to_copy, ends_with_its_last_whole_line_and_outlives_its_name) {
  const store::temp_folder folder;
  write(folder / "a.jsonl", "1\n22\n333");
  auto file = open_to_copy("a.jsonl", folder / "a.jsonl");
  ASSERT_TRUE(file);
  only_whole_lines(*file);
  EXPECT_EQ(file->bytes, 5U);
  fs::remove(folder / "a.jsonl");
  const copy_place place((folder / "place").string());
  EXPECT_EQ(place.put("step-1", *file, {}).bytes, 5U);
  EXPECT_EQ(store::content_of(folder / "place" / "step-1" / "a.jsonl"),
            "1\n22\n");
  write(folder / "b.jsonl", "no end");
  auto none = open_to_copy("b.jsonl", folder / "b.jsonl");
  only_whole_lines(*none);
  EXPECT_EQ(none->bytes, 0U);
  EXPECT_FALSE(open_to_copy("c", folder / "c"));
}

TEST(file_to_copy, that_becomes_shorter_is_no_copy) {
  const store::temp_folder folder;
  write(folder / "a", "12345");
  const auto file = open_to_copy("a", folder / "a");
  fs::resize_file(folder / "a", 2);
  EXPECT_FAILURE(
      copy_place((folder / "place").string()).put("step-1", *file, {}),
      errc::stale_generation, "became shorter");
}

} // namespace
} // namespace ballast::data
