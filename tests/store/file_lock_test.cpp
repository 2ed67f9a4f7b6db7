// Goal: one holder at a time, and others learn which process that is. Method:
// two locks on one file; the kernel keeps locks by open file, so one process
// can play both.
#include "store/file_lock.hpp"

#include "tests/store/temp_folder.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace ballast::store {
namespace {

using mode = file_lock::mode;

class file_lock_test : public ::testing::Test {
protected:
  temp_folder folder_;
  std::filesystem::path place_ = folder_.path() / "lock";
};

TEST_F(file_lock_test, is_exclusive_or_shared) {
  file_lock first(place_), second(place_);
  EXPECT_TRUE(first.take(mode::exclusive));
  EXPECT_FALSE(second.take(mode::shared));
  EXPECT_EQ(second.error(), 0) << "somebody holds it, which is no error";
  EXPECT_TRUE(first.take(mode::shared));
  EXPECT_TRUE(second.take(mode::shared));
  EXPECT_FALSE(second.take(mode::exclusive));
}

TEST_F(file_lock_test, goes_with_its_object) {
  {
    file_lock first(place_);
    ASSERT_TRUE(first.take(mode::exclusive));
  }
  EXPECT_TRUE(file_lock(place_).take(mode::exclusive));
}

TEST_F(file_lock_test, says_who_holds_it) {
  file_lock first(place_), second(place_);
  ASSERT_TRUE(first.take(mode::exclusive));
  ASSERT_TRUE(first.write_holder());
  EXPECT_EQ(second.holder(), "process " + std::to_string(::getpid()));
}

TEST_F(file_lock_test, tells_why_its_file_cannot_be_had) {
  file_lock absent(place_, {.create = false});
  EXPECT_FALSE(absent);
  EXPECT_EQ(absent.error(), ENOENT);
  std::filesystem::create_symlink(folder_.path() / "elsewhere", place_);
  EXPECT_EQ(file_lock(place_, {.follow_links = false}).error(), ELOOP);
}

TEST_F(file_lock_test, knows_that_its_file_was_replaced) {
  file_lock first(place_);
  EXPECT_TRUE(first.is_at(place_));
  std::filesystem::rename(place_, folder_.path() / "aside");
  EXPECT_FALSE(first.is_at(place_));
  EXPECT_TRUE(first.is_at(folder_.path() / "aside"));
}

} // namespace
} // namespace ballast::store
