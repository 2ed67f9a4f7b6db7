// Goal: a take goes through in as few passes as fit, and a size that does not
// fit is halved and not tried again. Method: tables.
#include "runtime/worker/micro_batch.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace ballast::worker {
namespace {

/// The passes of a take on a device with room for `room` rows, those that do
/// not fit as negative numbers.
std::vector<int> passes(micro_batch& size, uint64_t take, uint32_t room) {
  std::vector<int> out;
  for (uint64_t left = take; left > 0;) {
    const uint32_t rows = size.rows(left);
    if (rows > room) {
      out.push_back(-int(rows));
      if (!size.did_not_fit(rows))
        return out;
      left = take; // from the start
      continue;
    }
    size.fitted(rows);
    out.push_back(int(rows));
    left -= rows;
  }
  return out;
}

TEST(micro_batch, takes_everything_at_once_without_a_limit) {
  micro_batch size;
  EXPECT_EQ(passes(size, 1000, UINT32_MAX), (std::vector<int>{1000}));
}

TEST(micro_batch, keeps_to_the_limit_of_the_job) {
  micro_batch size(300);
  EXPECT_EQ(passes(size, 1000, UINT32_MAX),
            (std::vector<int>{300, 300, 300, 100}));
}

TEST(micro_batch, is_halved_until_it_fits_and_stays_so) {
  micro_batch size;
  EXPECT_EQ(passes(size, 100, 30),
            (std::vector<int>{-100, -50, 25, 25, 25, 25}));
  EXPECT_EQ(passes(size, 60, 30), (std::vector<int>{25, 25, 10}));
}

TEST(micro_batch, of_one_row_is_the_least) {
  micro_batch size;
  EXPECT_EQ(passes(size, 3, 0), (std::vector<int>{-3, -1}));
}

TEST(micro_batch, is_proven_up_to_what_has_fitted) {
  micro_batch size;
  EXPECT_FALSE(size.proven(1));
  size.fitted(8);
  size.fitted(3);
  EXPECT_TRUE(size.proven(8));
  EXPECT_FALSE(size.proven(9));
  EXPECT_TRUE(size.did_not_fit(8)); // somebody else took the room
  EXPECT_FALSE(size.proven(4));
  EXPECT_EQ(size.rows(100), 4u);
}

} // namespace
} // namespace ballast::worker
