// Goal: checkpoints in memory lie in a folder that no other user and no other
// process can take for theirs, and only where two of them fit. Method: folders
// of the disk in the place of /dev/shm, and a second object as another process.
#include "actors/memory_folder.hpp"
#include "runtime/base/errors.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace ballast::actors {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class memory_folder_of : public ::testing::Test {
protected:
  memory_folder_of() {
    fs::create_directories(run_);
    fs::create_directories(memory_);
  }

  /// Why it is refused; empty: it is not.
  template <class Work>
  static failure refusal(Work work) {
    try {
      work();
      return {};
    } catch (const ballast_error& e) {
      return e.what_failed();
    }
  }

  store::temp_folder folder_;
  fs::path run_ = folder_ / "run";
  fs::path memory_ = folder_ / "memory";
};

TEST_F(memory_folder_of, a_run_is_open_to_nobody_else) {
  memory_folder one(run_, memory_);
  EXPECT_FALSE(one.take());
  one.open(1000);
  struct stat about {};
  ASSERT_EQ(::stat(one.path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0700u);
  std::string named;
  std::ifstream in(one.path() / "run");
  std::getline(in, named);
  EXPECT_EQ(named, fs::canonical(run_));
  EXPECT_TRUE(one.take());
  one.remove();
  EXPECT_FALSE(fs::exists(one.path()));
}

TEST_F(memory_folder_of, a_run_whose_process_is_dead_is_taken_by_the_next) {
  fs::path left;
  {
    memory_folder dead(run_, memory_);
    dead.open(1000);
    left = dead.path();
  }
  std::ofstream(left / "kept") << "state";
  memory_folder next(run_, memory_);
  EXPECT_EQ(next.path(), left);
  EXPECT_TRUE(next.take());
  EXPECT_TRUE(fs::exists(left / "kept"));
}

TEST_F(memory_folder_of, a_run_that_goes_on_is_not_removed_by_another_process) {
  memory_folder one(run_, memory_);
  one.open(1000);
  memory_folder other(run_, memory_);
  EXPECT_THAT(refusal([&] { other.take(); }).message, HasSubstr("uses it"));
  other.remove();
  EXPECT_TRUE(fs::exists(one.path()));
}

TEST_F(memory_folder_of, another_run_has_another_name) {
  EXPECT_NE(memory_folder(run_, memory_).path(),
            memory_folder(folder_ / "other", memory_).path());
}

TEST_F(memory_folder_of, strangers_is_refused) {
  memory_folder one(run_, memory_);
  fs::create_directory(one.path()); // others may write into it
  ::chmod(one.path().c_str(), 0777);
  EXPECT_EQ(refusal([&] { one.take(); }).code, errc::run_dir_unusable);
  EXPECT_THAT(refusal([&] { one.take(); }).message, HasSubstr("`chmod 700 "));
  EXPECT_EQ(refusal([&] { one.open(1000); }).code, errc::run_dir_unusable);
  fs::remove(one.path());
  fs::create_directory_symlink(run_, one.path());
  EXPECT_THAT(refusal([&] { one.take(); }).message, HasSubstr("no folder"));
  one.remove();
  EXPECT_TRUE(fs::exists(run_));
}

TEST_F(memory_folder_of, a_state_of_which_two_do_not_fit_is_refused) {
  memory_folder one(run_, memory_);
  const failure found = refusal([&] { one.open(uint64_t{1} << 60); });
  EXPECT_EQ(found.code, errc::invalid_job);
  EXPECT_EQ(found.pointer, "/checkpoint/memory_every_s");
  for (const char* part :
       {"each, need ", memory_.c_str(), " free, and ",
        " of memory are available", "checkpoint.memory_every_s to 0"})
    EXPECT_THAT(found.message, HasSubstr(part));
  EXPECT_FALSE(fs::exists(one.path()));
}

} // namespace
} // namespace ballast::actors
