// Goal: a file is seen whole or not at all, and nothing unfinished is left
// behind. Method: real files; failures by the fault hook and by missing
// folders.
#include "store/atomic_file.hpp"

#include "tests/store/temp_folder.hpp"

#include <cerrno>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string_view>
#include <sys/stat.h>

namespace ballast::store {
namespace {

class atomic_file_test : public ::testing::Test {
protected:
  std::string content() const {
    std::ifstream in(place_);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  size_t files() const {
    return size_t(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  temp_folder folder_;
  std::filesystem::path place_ = folder_.path() / "file";
};

TEST_F(atomic_file_test, shows_nothing_before_it_is_published) {
  atomic_file file(place_);
  file.append("new");
  EXPECT_FALSE(std::filesystem::exists(place_));
  file.publish();
  EXPECT_EQ(content(), "new");
  EXPECT_EQ(files(), 1u);
}

TEST_F(atomic_file_test, keeps_the_old_content_where_it_is_never_published) {
  std::ofstream(place_) << "old";
  {
    atomic_file file(place_);
    file.append("new");
  }
  EXPECT_EQ(content(), "old");
  EXPECT_EQ(files(), 1u) << "the unfinished file is gone";
}

TEST_F(atomic_file_test, names_the_action_that_failed_and_leaves_nothing) {
  std::ofstream(place_) << "old";
  for (const char* failing : {"write", "replace"}) {
    try {
      atomic_file file(place_, {.fault = [failing](const char* action) {
                         return std::string_view(action) == failing ? ENOSPC
                                                                    : 0;
                       }});
      file.append("new");
      file.publish();
      FAIL() << failing;
    } catch (const file_failure& problem) {
      EXPECT_EQ(problem.action(), failing);
      EXPECT_EQ(problem.number(), ENOSPC);
    }
    EXPECT_EQ(content(), "old");
    EXPECT_EQ(files(), 1u);
  }
}

TEST_F(atomic_file_test, cannot_be_made_in_a_folder_that_is_not_there) {
  try {
    atomic_file file(folder_.path() / "absent" / "file");
    FAIL();
  } catch (const file_failure& problem) {
    EXPECT_EQ(problem.action(), "make");
    EXPECT_EQ(problem.number(), ENOENT);
  }
}

TEST_F(atomic_file_test,
       is_as_private_as_the_umask_says_unless_told_otherwise) {
  struct umask_of_the_test {
    mode_t before = ::umask(077);
    ~umask_of_the_test() { ::umask(before); }
  } const restored;
  const auto permissions = [this](const atomic_file::options& how) {
    atomic_file file(place_, how);
    file.publish();
    return uint32_t(std::filesystem::status(place_).permissions());
  };
  EXPECT_EQ(permissions({}), 0600u);
  EXPECT_EQ(permissions({.permissions = 0644}), 0600u);
  EXPECT_EQ(permissions({.permissions = 0644, .exact = true}), 0644u);
}

TEST_F(atomic_file_test, may_lie_elsewhere_until_it_is_whole) {
  std::filesystem::create_directory(folder_.path() / "tmp");
  atomic_file file(place_, {.unfinished_in = folder_.path() / "tmp"});
  EXPECT_EQ(files(), 1u) << "the folder alone";
  file.append("new");
  file.publish();
  EXPECT_EQ(content(), "new");
}

} // namespace
} // namespace ballast::store
