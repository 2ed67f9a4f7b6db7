// Goal: a limit of open files that is too low is refused with the number that
// is needed. Method: tables.
#include "runtime/base/open_files.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

TEST(open_files, are_more_the_more_workers_there_are) {
  EXPECT_EQ(open_files_needed(1), 68u);
  EXPECT_EQ(open_files_needed(2), 72u);
  EXPECT_EQ(open_files_needed(1024), 4160u);
}

TEST(open_files, that_are_enough_are_no_problem) {
  EXPECT_EQ(open_files_problem(72, 2), "");
  EXPECT_EQ(open_files_problem(UINT64_MAX, 1024), "") << "unlimited";
}

TEST(open_files, that_are_too_few_are_told_with_what_to_do) {
  EXPECT_EQ(open_files_problem(33, 2),
            "the limit of open files is 33, at least 72 are needed for 2 "
            "workers: raise it with `ulimit -n 72`");
  EXPECT_EQ(open_files_problem(67, 1),
            "the limit of open files is 67, at least 68 are needed for 1 "
            "worker: raise it with `ulimit -n 68`");
}

} // namespace
} // namespace ballast
