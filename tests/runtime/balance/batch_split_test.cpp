// Goal: no split of a batch ends earlier. Method: all splits of small batches,
// the law of water-filling, and properties that must hold at any size.
#include "runtime/balance/batch_split.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <cmath>
#include <gmock/gmock.h>
#include <limits>

namespace ballast::balance {
namespace {

using ::testing::ElementsAre;
using testing::test_random;

step_cost linear(double fixed_s, double per_row_s) {
  return {fixed_s, per_row_s, 0, 0};
}

std::vector<uint64_t> split(uint64_t batch,
                            const std::vector<step_cost>& workers) {
  return split_by_cost(batch, workers).rows;
}

uint64_t sum(const std::vector<uint64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0});
}

/// Tries every split of `left` rows among the workers from `first` on.
double best_of_all(uint64_t left, const std::vector<step_cost>& workers,
                   size_t first = 0) {
  if (first + 1 == workers.size())
    return workers[first].seconds(left);
  double best_s = std::numeric_limits<double>::infinity();
  for (uint64_t rows = 0; rows <= left; ++rows)
    best_s = std::min(best_s,
                      std::max(workers[first].seconds(rows),
                               best_of_all(left - rows, workers, first + 1)));
  return best_s;
}

/// Often the same few numbers, so that ties occur, and often 0.
step_cost some_cost(test_random& random) {
  auto some = [&](uint64_t most) {
    return random.one_in(3)   ? 0.0
           : random.one_in(2) ? double(random.below(most + 1))
                              : double(random.below(1'000'000)) * 1e-6;
  };
  return {some(4), some(3), random.one_in(2) ? 0 : random.between(1, 4),
          some(3)};
}

TEST(step_cost, counts_every_micro_batch_after_the_first) {
  step_cost cost{1, 0.5, 4, 0.25};
  EXPECT_DOUBLE_EQ(cost.seconds(0), 0);
  EXPECT_DOUBLE_EQ(cost.seconds(1), 1.5);
  EXPECT_DOUBLE_EQ(cost.seconds(4), 3);
  EXPECT_DOUBLE_EQ(cost.seconds(5), 3.75);
  EXPECT_DOUBLE_EQ(cost.seconds(8), 5.25);
  EXPECT_DOUBLE_EQ(cost.seconds(9), 6);
}

TEST(batch_split, follows_speed) {
  // Four times as slow: 1 : 4 : 4 : 4.
  EXPECT_THAT(
      split(130, {linear(0, 4), linear(0, 1), linear(0, 1), linear(0, 1)}),
      ElementsAre(10, 40, 40, 40));
  // A fixed cost is made up for: 2 + 4 = 6 rows of 1.
  EXPECT_THAT(split(10, {linear(2, 1), linear(0, 1)}), ElementsAre(4, 6));
}

TEST(batch_split, leaves_out_whom_it_would_wait_for) {
  EXPECT_THAT(split(4, {linear(9, 1), linear(0, 2)}), ElementsAre(0, 4));
  batch_split found = split_by_cost(4, std::vector{linear(9, 1), linear(0, 2)});
  EXPECT_DOUBLE_EQ(found.makespan_s, 8);
  EXPECT_DOUBLE_EQ(found.bound_s, 8);
}

TEST(batch_split, gives_equal_workers_equal_parts) {
  for (step_cost cost :
       {linear(0, 0), linear(1, 0), linear(0, 1e-7), linear(3, 0.1),
        step_cost{1, 0, 3, 2}, step_cost{1, 0.1, 3, 2}}) {
    EXPECT_THAT(split(7, {cost, cost, cost}), ElementsAre(3, 2, 2));
    EXPECT_THAT(split(2, {cost, cost, cost}), ElementsAre(1, 1, 0));
    EXPECT_THAT(split(30, {cost, cost, cost}), ElementsAre(10, 10, 10));
  }
}

TEST(batch_split, gives_nothing_of_nothing_and_all_to_one) {
  batch_split nothing = split_by_cost(0, std::vector{linear(1, 1)});
  EXPECT_EQ(nothing, (batch_split{{0}, 0, 0}));
  EXPECT_THAT(split(1000, {linear(1, 1)}), ElementsAre(1000));
}

TEST(batch_split, counts_memory_as_a_cost_and_not_as_a_cap) {
  // 8 rows fit; the ninth starts a micro-batch that costs as much as 10 rows.
  step_cost small{0, 1, 8, 10};
  EXPECT_THAT(split(20, {small, linear(0, 1)}), ElementsAre(8, 12));
  EXPECT_THAT(split(36, {small, linear(0, 1)}), ElementsAre(13, 23));
}

TEST(batch_split, has_the_water_filling_bound) {
  // T* = (100 + 2/0.5 + 1/0.25) / (1/0.5 + 1/0.25) = 18.
  std::vector workers{linear(2, 0.5), linear(1, 0.25), linear(50, 0.1)};
  batch_split found = split_by_cost(100, workers);
  EXPECT_DOUBLE_EQ(found.bound_s, 18);
  EXPECT_DOUBLE_EQ(found.makespan_s, 18);
  EXPECT_THAT(found.rows, ElementsAre(32, 68, 0));
}

TEST(batch_split, is_as_good_as_the_best_of_all_splits) {
  for (uint64_t seed = 1; seed <= 10'000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    std::vector<step_cost> workers(random.between(1, 4));
    for (step_cost& cost : workers)
      cost = some_cost(random);
    uint64_t batch = random.below(workers.size() == 4 ? 11 : 14);
    batch_split found = split_by_cost(batch, workers);
    ASSERT_EQ(sum(found.rows), batch);
    ASSERT_EQ(found.makespan_s, makespan_s(workers, found.rows));
    ASSERT_EQ(found.makespan_s, best_of_all(batch, workers));
    ASSERT_LE(found.bound_s, found.makespan_s);
    // Nor can one row less on any worker be made up for by another one.
    for (size_t from = 0; from < workers.size(); ++from)
      for (size_t to = 0; to < workers.size(); ++to)
        if (from != to && found.rows[from] > 0) {
          ASSERT_GE(workers[to].seconds(found.rows[to] + 1),
                    workers[from].seconds(found.rows[from]));
        }
  }
}

TEST(batch_split, is_within_one_row_of_its_bound_without_micro_batches) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test_random random(seed);
    std::vector<step_cost> workers(random.between(1, 512));
    double row_s_max = 0;
    for (step_cost& cost : workers) {
      cost = linear(double(random.below(1000)) * 1e-5,
                    double(random.between(1, 1000)) * 1e-6);
      row_s_max = std::max(row_s_max, cost.per_row_s);
    }
    uint64_t batch = random.below(1'000'000);
    batch_split found = split_by_cost(batch, workers);
    ASSERT_EQ(sum(found.rows), batch);
    ASSERT_LE(found.makespan_s, found.bound_s + row_s_max);
  }
}

TEST(batch_split, keeps_its_sum_with_extreme_numbers) {
  const double tiny = std::numeric_limits<double>::denorm_min();
  const double huge = std::numeric_limits<double>::max() / 1e20;
  for (uint64_t batch : {uint64_t{1}, uint64_t{1000}, uint64_t{1} << 62})
    for (double fixed_s : {0.0, tiny, 1.0, huge})
      for (double per_row_s : {0.0, tiny, 1e-30, 1.0, huge})
        for (uint64_t micro_rows : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
          step_cost cost{fixed_s, per_row_s, micro_rows, fixed_s};
          EXPECT_EQ(sum(split(batch, {cost, linear(0, 1), cost})), batch)
              << batch << " " << fixed_s << " " << per_row_s;
        }
}

} // namespace
} // namespace ballast::balance
