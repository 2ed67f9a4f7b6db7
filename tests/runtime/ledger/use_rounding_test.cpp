// Goal: it is known beforehand which chunks have no use, or far too many or
// few. Method: sets of chunks with known weights.
#include "runtime/ledger/use_rounding.hpp"

#include "runtime/ledger/epoch_uses.hpp"

#include <gtest/gtest.h>

namespace ballast::ledger {
namespace {

/// So many chunks of 10 rows, of which `weighed` have the weight 1.
manifest set_of(uint32_t chunks, uint32_t weighed) {
  manifest out;
  for (uint32_t i = 0; i < chunks; ++i) {
    chunk_info& one = out.train.emplace_back();
    one.id = chunk_id(i);
    one.rows = 10;
    one.weights = {{weighed, 1}, {10 - weighed, 0}};
  }
  out.train_rows = uint64_t{chunks} * 10;
  out.order = row_layout::by_class;
  return out;
}

use_rounding rounding(uint64_t rows, const manifest& set) {
  sampling_spec how;
  how.kind = sampling_kind::weighted;
  how.column = "w";
  how.rows = rows;
  return rounding_of(how, 7, set);
}

TEST(use_rounding, counts_chunks_that_have_no_use_and_their_rows_of_weight) {
  const use_rounding found = rounding(5, set_of(20, 4));
  EXPECT_EQ(found.uses, 5U);
  EXPECT_EQ(found.chunks, 20U);
  EXPECT_EQ(found.unused, 15U);
  EXPECT_EQ(found.unused_rows, 60U);
  EXPECT_EQ(found.far_off, 5U); // one use where a fourth was due
}

TEST(use_rounding, is_nothing_where_chunks_have_uses_enough) {
  const use_rounding found = rounding(20 * 32 + 7, set_of(20, 4));
  EXPECT_FALSE(found.any());
  EXPECT_EQ(found.chunks, 20U);
}

TEST(use_rounding, does_not_count_chunks_whose_rows_all_weigh_nothing) {
  manifest set = set_of(4, 10);
  set.train[1].weights = {{10, 0}};
  const use_rounding found = rounding(300, set);
  EXPECT_FALSE(found.any());
  EXPECT_EQ(found.chunks, 3U);
}

TEST(use_rounding, is_of_samplings_with_weights) {
  EXPECT_FALSE(rounding_of({}, 7, set_of(20, 4)).any());
}

} // namespace
} // namespace ballast::ledger
