// Goal: a quota keeps sizes, budgets and holders, and moves the fewest rows.
// Method: cases worked out by hand, properties of random ones, and two solvers
// that share nothing but the statement of the problem. A third one, outside,
// is asked in quota_against_scipy.py.
#include "runtime/balance/quota.hpp"
#include "tests/runtime/balance/quota_fixture.hpp"

#include <gmock/gmock.h>

namespace ballast::balance {
namespace {

using ::testing::ElementsAre;
using testing::some_request;

label_counts counts(const std::vector<std::vector<uint64_t>>& rows) {
  label_counts out(rows.size(), rows.empty() ? 0 : rows[0].size());
  for (size_t w = 0; w < out.workers; ++w)
    for (size_t c = 0; c < out.classes; ++c)
      out.at(w, c) = rows[w][c];
  return out;
}

uint64_t moved(const label_counts& held, const label_counts& target) {
  uint64_t out = 0;
  for (size_t i = 0; i < held.rows.size(); ++i)
    out += target.rows[i] > held.rows[i] ? target.rows[i] - held.rows[i] : 0;
  return out;
}

/// Sizes, classes, budgets, and that the figures tell the truth.
void expect_valid(const quota_request& what, const quota& found) {
  ASSERT_EQ(found.target.workers, what.held.workers);
  ASSERT_EQ(found.target.classes, what.held.classes);
  std::vector<double> skew = skews(found.target);
  for (size_t w = 0; w < what.held.workers; ++w) {
    ASSERT_EQ(found.target.of_worker(w), what.sizes[w]) << "worker " << w;
    double floor_tv = double(what.held.classes) / double(what.sizes[w]);
    if (what.sizes[w] > 0) {
      ASSERT_LE(skew[w], std::max(what.skew_tv, floor_tv) + 1e-12);
    }
  }
  for (size_t c = 0; c < what.held.classes; ++c)
    ASSERT_EQ(found.target.of_class(c), what.held.of_class(c)) << "class " << c;
  ASSERT_EQ(found.moved, moved(what.held, found.target));
  ASSERT_GE(found.bound, moves_bound(what));
  ASSERT_LE(found.bound, found.moved);
}

/// Sum over classes of holders, at most as many as asked for.
int64_t holders_counted(const quota_request& what, const quota& found) {
  int64_t active = 0, out = 0;
  for (uint64_t size : what.sizes)
    active += size > 0;
  for (size_t c = 0; c < what.held.classes; ++c) {
    int64_t holders = 0;
    for (size_t w = 0; w < what.held.workers; ++w)
      holders += found.target.at(w, c) > 0;
    if (what.held.of_class(c) >= what.holders_min)
      out += std::min<int64_t>({holders, active, what.holders_min});
  }
  return out;
}

TEST(label_counts, sums_by_worker_and_by_class) {
  label_counts held = counts({{1, 2, 3}, {10, 20, 30}});
  EXPECT_EQ(held.of_worker(0), 6u);
  EXPECT_EQ(held.of_worker(1), 60u);
  EXPECT_EQ(held.of_class(2), 33u);
  EXPECT_EQ(held.total(), 66u);
  EXPECT_EQ(label_counts().total(), 0u);
}

TEST(skews, are_distances_from_the_global_distribution) {
  EXPECT_THAT(skews(counts({{4, 0}, {0, 4}})), ElementsAre(0.5, 0.5));
  EXPECT_THAT(skews(counts({{3, 3}, {1, 1}, {0, 0}})), ElementsAre(0, 0, 0));
  EXPECT_THAT(skews(counts({{0, 0}})), ElementsAre(0));
}

TEST(quota, moves_nothing_where_all_is_well) {
  quota_request what{counts({{5, 5}, {5, 5}}), {10, 10}, 0, 2};
  for (const quota& found :
       {fast_quota(what), exact_quota(what), best_quota(what)}) {
    EXPECT_EQ(found.target, what.held);
    EXPECT_EQ(found.moved, 0u);
    EXPECT_EQ(found.bound, 0u);
    EXPECT_TRUE(found.exact);
    EXPECT_TRUE(found.covered);
  }
}

TEST(quota, mixes_what_was_sorted) {
  quota_request what{counts({{10, 0}, {0, 10}}), {10, 10}, 0, 2};
  quota found = fast_quota(what);
  EXPECT_EQ(found.target, counts({{5, 5}, {5, 5}}));
  EXPECT_EQ(found.moved, 10u);
  EXPECT_EQ(found.bound, 10u);
  EXPECT_TRUE(found.exact);
}

TEST(quota, stops_where_the_budget_is_met) {
  // A distance of 0.2 leaves two of ten rows beyond the five fair ones.
  quota_request what{counts({{10, 0}, {0, 10}}), {10, 10}, 0.2, 2};
  quota found = fast_quota(what);
  EXPECT_EQ(found.target, counts({{7, 3}, {3, 7}}));
  EXPECT_EQ(found.moved, 6u);
}

TEST(quota, follows_sizes_alone_where_any_skew_will_do) {
  quota_request what{counts({{8, 0}, {0, 4}, {0, 0}}), {4, 4, 4}, 1, 0};
  quota found = fast_quota(what);
  EXPECT_EQ(found.moved, 4u);
  EXPECT_EQ(found.target, counts({{4, 0}, {0, 4}, {4, 0}}));
}

TEST(quota, takes_everything_from_who_leaves) {
  quota_request what{counts({{4, 4}, {4, 4}, {4, 4}}), {12, 12, 0}, 0, 2};
  for (const quota& found : {fast_quota(what), exact_quota(what)}) {
    EXPECT_EQ(found.target, counts({{6, 6}, {6, 6}, {0, 0}}));
    EXPECT_EQ(found.moved, 8u);
    EXPECT_EQ(found.bound, 8u);
  }
}

TEST(quota, gives_a_rare_class_a_second_holder) {
  quota_request what{
      counts({{100, 2}, {100, 0}, {100, 0}}), {102, 100, 100}, 0.1, 2};
  for (const quota& found :
       {fast_quota(what), exact_quota(what), best_quota(what)}) {
    expect_valid(what, found);
    EXPECT_TRUE(found.covered);
    EXPECT_EQ(found.target.at(0, 1), 1u);
    EXPECT_EQ(found.moved, 2u); // there, and another one back
  }
  what.holders_min = 1;
  EXPECT_EQ(best_quota(what).moved, 0u);
}

TEST(quota, asks_no_second_holder_of_a_single_row) {
  quota_request what{counts({{9, 1}, {10, 0}}), {10, 10}, 0.1, 2};
  EXPECT_EQ(exact_quota(what).moved, 0u);
  EXPECT_TRUE(exact_quota(what).covered);
}

TEST(quota, is_trivial_for_one_worker_and_for_no_rows) {
  EXPECT_EQ(best_quota({counts({{3, 4}}), {7}, 0, 2}).moved, 0u);
  EXPECT_EQ(best_quota({counts({{0, 0}, {0, 0}}), {0, 0}, 0, 2}).moved, 0u);
  EXPECT_EQ(best_quota({label_counts(2, 0), {0, 0}, 0, 2}).moved, 0u);
}

// Fashion-MNIST: 6,000 rows of each class, four workers of 2.5 classes each.
TEST(quota, spreads_a_sorted_set_with_as_few_rows_as_the_bound_says) {
  quota_request what;
  what.held = counts({{6000, 6000, 3000, 0, 0, 0, 0, 0, 0, 0},
                      {0, 0, 3000, 6000, 6000, 0, 0, 0, 0, 0},
                      {0, 0, 0, 0, 0, 6000, 6000, 3000, 0, 0},
                      {0, 0, 0, 0, 0, 0, 0, 3000, 6000, 6000}});
  what.sizes = {15000, 15000, 15000, 15000};
  what.skew_tv = 0.05;
  EXPECT_NEAR(skews(what.held)[0], 0.7, 1e-12);
  quota found = fast_quota(what);
  expect_valid(what, found);
  // 0.7 less 0.05 of every worker's 15,000 rows.
  EXPECT_EQ(found.bound, 39000u);
  EXPECT_EQ(found.moved, 39000u);
}

TEST(quota, is_the_minimum_by_both_solvers) {
  size_t with_swaps = 0;
  for (uint64_t seed = 1; seed <= 4000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    quota_request what = some_request(seed);
    quota fast = fast_quota(what);
    quota exact = exact_quota(what);
    ASSERT_NO_FATAL_FAILURE(expect_valid(what, fast));
    ASSERT_NO_FATAL_FAILURE(expect_valid(what, exact));
    ASSERT_GE(std::min(fast.moved, exact.moved), exact.bound);
    if (fast.exact) {
      // The other one fills fractions of budgets up by another way.
      ASSERT_LE(fast.moved, exact.moved);
    } else {
      ++with_swaps;
    }
    ASSERT_LE(holders_counted(what, fast), holders_counted(what, exact));
    ASSERT_TRUE(exact.covered || !fast.covered);
    quota best = best_quota(what);
    ASSERT_EQ(holders_counted(what, best), holders_counted(what, exact));
    ASSERT_LE(best.moved, exact.moved + best.bound / 50);
  }
  EXPECT_GT(with_swaps, 20u); // else the case was not met
  EXPECT_LT(with_swaps, 1300u);
}

TEST(quota, asks_for_nothing_more_once_it_is_fulfilled) {
  for (uint64_t seed = 1; seed <= 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    quota_request what = some_request(seed);
    quota found = best_quota(what);
    what.held = found.target;
    if (found.covered) {
      ASSERT_EQ(best_quota(what).moved, 0u);
    }
  }
}

TEST(quota, leaves_the_exact_solver_out_where_there_are_too_many_cells) {
  // A second holder costs 2 rows where the bound knows of none.
  quota_request what{counts({{100, 2}, {100, 0}}), {102, 100}, 0.1, 2};
  EXPECT_EQ(best_quota(what, 3).target, fast_quota(what).target);
  EXPECT_EQ(best_quota(what, 4).target, exact_quota(what).target);
  EXPECT_LE(exact_quota(what).moved, fast_quota(what).moved);
}

} // namespace
} // namespace ballast::balance
