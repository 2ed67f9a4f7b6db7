// Goal: one thing is no "1 things". Method: a table.
#include "runtime/base/counted.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

TEST(counted, says_how_many_things_there_are) {
  EXPECT_EQ(counted(0, "row"), "0 rows");
  EXPECT_EQ(counted(1, "row"), "1 row");
  EXPECT_EQ(counted(2, "row"), "2 rows");
}

} // namespace
} // namespace ballast
