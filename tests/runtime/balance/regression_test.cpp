// Goal: rows with numbers for labels are balanced like rows with classes.
// Method: the whole way from targets over bins, placement and chunks to moves.
#include "runtime/balance/skew.hpp"
#include "runtime/placement/target_bins.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace ballast::balance {
namespace {

/// 20,000 rows with a long-tailed target, sorted by it onto four workers.
ledger::manifest sorted_by_target() {
  const counter_random random(3, 0);
  std::vector<float> targets;
  for (uint64_t row = 0; row < 20000; ++row)
    targets.push_back(float(-std::log(1 - random.unit(row))));
  const std::vector<float> edges = placement::bin_edges(targets);
  std::vector<int32_t> bins;
  for (float target : targets)
    bins.push_back(placement::bin_of(target, edges));
  placement_spec spec;
  spec.kind = placement_kind::sorted;
  ledger::manifest out = testing::chunked(
      placement::place_rows(
          spec, {bins.size(), bins, placement::target_bins_max}, 4, 1),
      bins, placement::target_bins_max, 64);
  out.row.classes = 0;
  out.row.target_bins = placement::target_bins_max;
  return out;
}

TEST(regression, begins_with_the_skew_of_four_of_sixteen_bins) {
  const ledger::manifest set = sorted_by_target();
  EXPECT_NEAR(measure_skew(set, testing::placed(set)).max, 0.75, 0.001);
}

TEST(regression, is_brought_below_the_budget_of_skew) {
  const ledger::manifest set = sorted_by_target();
  const ledger::plan before = testing::placed(set);
  const testing::planner with{set, {1, 1, 1, 1}};
  const ledger::plan then = testing::after(before, with.moves(before));
  EXPECT_LE(measure_skew(set, then).max, 0.05);
  for (const ledger::share& part : then.shares)
    EXPECT_NEAR(double(rows(part)), 5000, 100);
}

} // namespace
} // namespace ballast::balance
