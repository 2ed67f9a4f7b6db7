// Goal: nothing is left behind of folders for rows, whoever was killed, and
// one that is in use stays. Method: folders as a killed process leaves them.
#include "data/graph/temporary_folder.hpp"

#include "runtime/base/errors.hpp"
#include "tests/data/some_chunks.hpp"

#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>

namespace ballast::data {
namespace {

namespace fs = std::filesystem;

class rows_folders : public testing::Test {
protected:
  void SetUp() override {
    if (const char* told = std::getenv("TMPDIR"))
      before_ = told;
    ::setenv("TMPDIR", folder_.path().c_str(), 1);
  }
  void TearDown() override {
    if (before_)
      ::setenv("TMPDIR", before_->c_str(), 1);
    else
      ::unsetenv("TMPDIR");
  }

  temporary_folder folder_;
  std::optional<std::string> before_;
};

TEST_F(rows_folders, go_with_their_owner) {
  fs::path path;
  {
    const rows_folder one = rows_folder::make();
    path = one.path();
    std::ofstream(path / "rows") << "1";
    EXPECT_TRUE(fs::exists(path / "rows"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(rows_folders, of_the_dead_are_removed_by_the_next) {
  fs::create_directories(folder_.path() / "ballast-rows-abcdef" / "deep");
  fs::create_directories(folder_.path() / "ballast-rows-of-mine");
  const rows_folder used = rows_folder::make();
  EXPECT_FALSE(fs::exists(folder_.path() / "ballast-rows-abcdef"));
  EXPECT_TRUE(fs::exists(folder_.path() / "ballast-rows-of-mine"));
  const rows_folder other = rows_folder::make();
  EXPECT_TRUE(fs::exists(used.path()));
  EXPECT_NE(used.path(), other.path());
}

TEST_F(rows_folders, say_that_it_is_tmpdir_that_is_not_there) {
  ::setenv("TMPDIR", (folder_.path() / "gone").c_str(), 1);
  try {
    rows_folder::make();
    ADD_FAILURE() << "was made";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("gone: No such file"));
    EXPECT_THAT(error.what(), testing::HasSubstr("point $TMPDIR to"));
  }
}

} // namespace
} // namespace ballast::data
