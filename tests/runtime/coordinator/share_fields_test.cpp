// Goal: events say what every worker owns and takes. Method: a table.
#include "runtime/coordinator/share_fields.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

plan weighted(std::vector<uint32_t> weights) {
  plan out;
  for (uint32_t weight : weights) {
    out.shares.emplace_back();
    out.shares.back().batch_weight = weight;
  }
  return out;
}

TEST(share_fields, name_rows_skew_and_batch_of_every_worker) {
  nlohmann::ordered_json found =
      share_fields({"w2", "w7"}, weighted({1, 3}),
                   {{worker_id{1}, 10, 0.25}, {worker_id{6}, 30, 0.5}}, 64);
  EXPECT_EQ(found.dump(), R"({"skew_tv_max":0.5,)"
                          R"("skew_tv":{"w2":0.25,"w7":0.5},)"
                          R"("rows":{"w2":10,"w7":30},)"
                          R"("batch":{"w2":16.0,"w7":48.0}})");
}

TEST(share_fields, are_empty_where_nobody_has_a_share_yet) {
  EXPECT_EQ(share_fields({}, {}, {}, 64).dump(),
            R"({"skew_tv_max":0.0,"skew_tv":{},"rows":{},"batch":{}})");
}

} // namespace
} // namespace ballast
