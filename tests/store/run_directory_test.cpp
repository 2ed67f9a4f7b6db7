/// Goal: a run directory has one owner, and readers see whole files only.
#include "store/run_directory.hpp"

#include "tests/store/expect_error.hpp"
#include "tests/store/small_disk.hpp"
#include "tests/store/temp_folder.hpp"

#include <atomic>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ballast::store {
namespace {

namespace fs = std::filesystem;

TEST(run_directory, takes_the_first_free_number) {
  temp_folder base;
  fs::create_directory(base / "fashion-2");
  auto first = run_directory::create(base / "runs/..", "fashion");
  auto third = run_directory::create(base.path(), "fashion");
  auto other = run_directory::create(base.path(), "other");
  EXPECT_EQ(first.path(), base / "fashion-1");
  EXPECT_EQ(third.path(), base / "fashion-3");
  EXPECT_EQ(other.path(), base / "other-1");
  for (const fs::path& folder :
       {first.logs(), first.trace(), first.checkpoints(), first.tmp()})
    EXPECT_TRUE(fs::is_directory(folder)) << folder;
}

TEST(run_directory, says_of_a_run_to_go_on_with_that_it_stays_where_it_is) {
  temp_folder base;
  { auto run = run_directory::create_at(base / "run"); }
  fs::remove(base / "run/tmp");
  std::ofstream(base / "run/tmp") << "no folder";
  EXPECT_FAILURE(run_directory::adopt(base / "run"), errc::run_dir_unusable,
                 "let it be written to");
}

TEST(run_directory, gives_different_numbers_to_runs_that_start_at_once) {
  temp_folder base;
  std::vector<fs::path> made(8);
  std::vector<std::thread> threads;
  threads.reserve(made.size());
  for (fs::path& path : made)
    threads.emplace_back(
        [&] { path = run_directory::create(base.path(), "run").path(); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(std::set<fs::path>(made.begin(), made.end()).size(), made.size());
}

TEST(run_directory, refuses_names_that_would_leave_the_base) {
  temp_folder base;
  for (const char* name : {"", ".", "..", "../x", "a/b"})
    EXPECT_FAILURE(run_directory::create(base.path(), name), errc::invalid_job,
                   "cannot name a run");
}

TEST(run_directory, accepts_an_explicit_folder_that_is_absent_or_empty) {
  temp_folder base;
  EXPECT_EQ(run_directory::create_at(base / "a/b/").path(), base / "a/b");
  fs::create_directory(base / "empty");
  EXPECT_EQ(run_directory::create_at(base / "empty").path(), base / "empty");
  EXPECT_TRUE(fs::is_directory(base / "empty/trace"));
}

TEST(run_directory, refuses_a_folder_with_content_and_leaves_it_alone) {
  temp_folder base;
  write_content(base / "mine.txt", "x");
  EXPECT_FAILURE(run_directory::create_at(base.path()), errc::run_dir_unusable,
                 "is not empty");
  EXPECT_EQ(std::distance(fs::directory_iterator(base.path()), {}), 1);
}

TEST(run_directory, refuses_an_earlier_run) {
  temp_folder base;
  { auto earlier = run_directory::create_at(base / "r"); }
  EXPECT_FAILURE(run_directory::create_at(base / "r"), errc::run_dir_unusable,
                 "earlier run");
}

TEST(run_directory, is_in_use_while_its_owner_lives_and_names_it) {
  temp_folder base;
  {
    auto owner = run_directory::create_at(base / "r");
    EXPECT_FAILURE(run_directory::create_at(base / "r"), errc::run_dir_in_use,
                   "process " + std::to_string(getpid()));
    auto child = run_directory::open(base / "r"); // without the lock
    EXPECT_EQ(child.path(), owner.path());
  }
  EXPECT_FAILURE(run_directory::open(base / "absent"), errc::run_dir_unusable,
                 "absent");
}

TEST(run_directory, is_free_again_when_its_owner_is_killed) {
  temp_folder base;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  pid_t owner = fork();
  if (owner == 0) {
    auto held = run_directory::create_at(base / "r");
    fs::remove_all(base / "r/logs");
    fs::remove_all(base / "r/trace");
    fs::remove_all(base / "r/checkpoints");
    fs::remove_all(base / "r/tmp");
    if (write(ready[1], "x", 1) != 1)
      _exit(1);
    pause();
    _exit(0);
  }
  char byte;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_FAILURE(run_directory::create_at(base / "r"), errc::run_dir_in_use,
                 "process " + std::to_string(owner));
  kill(owner, SIGKILL);
  waitpid(owner, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_EQ(run_directory::create_at(base / "r").path(), base / "r");
}

TEST(run_directory, says_why_a_place_cannot_be_used) {
  temp_folder base;
  write_content(base / "file", "x");
  EXPECT_FAILURE(run_directory::create(base / "file/runs", "a"),
                 errc::run_dir_unusable, "file");
  EXPECT_FAILURE(run_directory::create_at(base / "file"),
                 errc::run_dir_unusable, "file");
  EXPECT_FAILURE(run_directory::create("/proc/ballast", "a"),
                 errc::run_dir_unusable, "--run-dir");
}

TEST(run_directory, replaces_a_file_at_once_for_every_reader) {
  temp_folder base;
  auto run = run_directory::create(base.path(), "r");
  nlohmann::json small = {{"n", 0}};
  nlohmann::json large = {{"n", 1}, {"pad", std::string(100'000, 'x')}};
  run.write_json("workers.json", small);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int round = 0; round < 100; ++round)
      run.write_json("workers.json", round % 2 ? small : large);
    stop = true;
  });
  while (!stop) {
    auto seen = nlohmann::json::parse(content_of(run.file("workers.json")),
                                      nullptr, false);
    ASSERT_TRUE(seen == small || seen == large);
  }
  writer.join();
  EXPECT_TRUE(fs::is_empty(run.tmp()));
}

TEST(run_directory, keeps_the_order_of_keys_it_is_given) {
  temp_folder base;
  auto run = run_directory::create(base.path(), "r");
  nlohmann::ordered_json content = {{"z", 1}, {"a", 2}};
  run.write_json("x.json", content, outlives::power);
  EXPECT_EQ(content_of(run.file("x.json")), "{\n  \"z\": 1,\n  \"a\": 2\n}\n");
}

TEST(run_directory, keeps_the_old_file_on_a_full_disk) {
  temp_folder base;
  auto run = run_directory::create(base.path(), "r");
  run.write_file("a.json", "old");
  {
    small_disk disk(100);
    EXPECT_FAILURE(run.write_file("a.json", std::string(1000, 'x')),
                   errc::disk_full, "a.json");
  }
  EXPECT_EQ(content_of(run.file("a.json")), "old");
  EXPECT_TRUE(fs::is_empty(run.tmp()));
}

} // namespace
} // namespace ballast::store
