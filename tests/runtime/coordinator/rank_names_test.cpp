// Goal: people are told names. Method: a table.
#include "runtime/coordinator/rank_names.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace ballast::coordinator {
namespace {

TEST(rank_names, stand_for_the_numbers) {
  const std::vector<std::string> names{"w1", "far", "w3"};
  EXPECT_EQ(with_names("rank 1 cannot be reached: rank 0", names),
            "far cannot be reached: w1");
  EXPECT_EQ(with_names("rank 7 and rank x, rank 2", names),
            "rank 7 and rank x, w3");
  EXPECT_EQ(with_names("", names), "");
  EXPECT_EQ(with_names("rank ", names), "rank ");
}

} // namespace
} // namespace ballast::coordinator
