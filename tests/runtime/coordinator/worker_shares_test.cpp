// Goal: events say what every worker owns and takes. Method: a table.
#include "runtime/coordinator/worker_shares.hpp"

#include <gtest/gtest.h>

namespace ballast::coordinator {
namespace {

ledger::plan weighted(std::vector<uint32_t> weights) {
  ledger::plan out;
  for (uint32_t weight : weights) {
    out.shares.emplace_back();
    out.shares.back().batch_weight = weight;
  }
  return out;
}

TEST(worker_shares, name_rows_skew_and_batch_of_every_worker) {
  std::vector<worker_share> found =
      worker_shares({"w2", "w7"}, weighted({1, 3}),
                    {{worker_id{1}, 10, 0.25}, {worker_id{6}, 30, 0.5}}, 64);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].worker, "w2");
  EXPECT_EQ(found[0].skew_tv, 0.25);
  EXPECT_EQ(found[0].rows, 10u);
  EXPECT_EQ(found[0].batch, 16.0);
  EXPECT_EQ(found[1].worker, "w7");
  EXPECT_EQ(found[1].skew_tv, 0.5);
  EXPECT_EQ(found[1].rows, 30u);
  EXPECT_EQ(found[1].batch, 48.0);
}

TEST(worker_shares, are_empty_where_nobody_has_a_share_yet) {
  EXPECT_TRUE(worker_shares({}, {}, {}, 64).empty());
}

} // namespace
} // namespace ballast::coordinator
