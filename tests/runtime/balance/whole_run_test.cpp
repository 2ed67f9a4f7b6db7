// Goal: a run moves hardly more rows than had to move from its first owners to
// its last, and keeps the budget of skew once it has reached it. Method: whole
// runs in virtual time, of placements times speeds, against the exact minimum.
#include "runtime/ledger/step_takes.hpp"
#include "tests/runtime/balance/placed_runs.hpp"

#include <string>
#include <vector>

namespace ballast::testing {
namespace {

constexpr double over_least_max = 1.05;
/// Of the smallest worker, in the budget.
constexpr double a_row = 0.005;

class whole_run : public ::testing::TestWithParam<const char*> {};

TEST_P(whole_run, moves_hardly_more_than_has_to_move_and_keeps_the_budget) {
  for (const speeds& speed : all_speeds)
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      balanced_run run(placed_like(GetParam(), 4, 25, seed),
                       options_of(speed, 4, seed));
      run.run();
      SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + run.story());
      EXPECT_LE(double(run.moved()),
                over_least_max * double(run.account().least()) + 1);
      EXPECT_EQ(run.account().again(), 0u) << "rows that moved twice";
      EXPECT_LE(run.skew(), budget + a_row);
      EXPECT_GE(run.part_of_ideal(), speed.changes() ? 0.9 : 0.94);
      bool reached = false;
      for (const balanced_run::landed& one : run.plans()) {
        EXPECT_LE(one.bound, one.moved);
        EXPECT_TRUE(!reached || one.skew <= budget + a_row);
        reached = reached || one.skew <= budget;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(placements, whole_run, ::testing::ValuesIn(kinds),
                         [](const auto& kind) {
                           return std::string(kind.param);
                         });

// A plan that takes several rounds to copy keeps its end for all of them.
TEST(whole_run, moves_no_row_twice_where_rows_are_large) {
  for (const char* kind : {"sorted", "square", "matrix", "shards"})
    for (const speeds& speed : all_speeds)
      for (uint64_t row_bytes : {20'000u, 60'000u}) {
        ledger::manifest set = placed_like(kind, 4, 25, 2);
        for (ledger::chunk_info& chunk : set.train)
          chunk.bytes = chunk.rows * row_bytes;
        balanced_run run(set, options_of(speed, 4, 2));
        run.run();
        SCOPED_TRACE(std::string(kind) + ", " + speed.name + "\n" +
                     run.story());
        EXPECT_EQ(run.account().again(), 0u);
        EXPECT_LE(run.skew(), budget + a_row);
      }
}

// Rows to be measured by are part of what moves anyway, for labels or sizes.
TEST(whole_run, gives_who_owns_a_row_some_rows_that_it_keeps) {
  for (const char* kind : {"column", "exponential"})
    for (const speeds& speed : all_speeds)
      for (uint32_t chunk_rows : {25u, 256u})
        for (uint64_t seed = 1; seed <= 2; ++seed) {
          balanced_run run(placed_like(kind, 8, chunk_rows, seed),
                           options_of(speed, 8, seed));
          run.run();
          SCOPED_TRACE(std::string(kind) + ", " + speed.name + "\n" +
                       run.story());
          EXPECT_LE(double(run.moved()), 1.05 * double(run.account().least()));
          EXPECT_EQ(run.account().again(), 0u);
        }
}

// Two classes, chunks of other sizes, and a second worker of two rows that is
// so slow that the first rows it is given are all that it needs.
TEST(whole_run, gives_a_mixed_sample_to_be_measured_by_whatever_the_chunks) {
  for (uint64_t small : {25u, 30u, 35u})
    for (uint64_t large : {100u, 150u, 240u}) {
      set_builder built(2);
      for (uint64_t left = 2000; left > 0; left -= std::min(left, small))
        built.add(0, {0, std::min(left, small)});
      for (uint64_t left = 2000; left > 0; left -= std::min(left, large))
        built.add(0, {std::min(left, large), 0});
      built.add(1, {1, 1});
      balanced_options options;
      options.skew_tv = 0.05;
      options.steps = 700;
      options.steps_left = 1'000'000;
      options.row_us = 500;
      options.noise = 0.01;
      options.speed = [](size_t rank, uint64_t) {
        return rank == 1 ? 1.0 / 19 : 1.0;
      };
      balanced_run run(built.set, options);
      run.run();
      SCOPED_TRACE(std::to_string(small) + " " + std::to_string(large) + "\n" +
                   run.story());
      EXPECT_LE(run.skew(), 0.05 + a_row);
      EXPECT_EQ(run.account().again(), 0u);
    }
}

/// Ten minutes of steps of 50 ms.
balanced_options ten_minutes(uint64_t seed) {
  balanced_options out;
  out.seed = seed;
  out.steps = 12'000;
  out.skew_tv = budget;
  out.row_us = 2000;
  out.steps_left = 72'000;
  return out;
}

// Order global: what a worker owns says nothing of its steps.
TEST(whole_run, of_order_global_follows_speeds_by_leaves_and_moves_no_row) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    balanced_options options;
    options.batch = 96;
    options.leaves = 16;
    options.seed = seed;
    options.speed = [](size_t rank, uint64_t step) {
      return rank == 1 && step > 500 ? 0.25 : 1.0;
    };
    balanced_run run(placed_like("sorted", 4, 25, seed), options);
    run.run();
    SCOPED_TRACE(run.story());
    EXPECT_EQ(run.moved(), 0u);
    EXPECT_EQ(batch_parts(run.now(), 16), (std::vector<uint64_t>{5, 1, 5, 5}));
    EXPECT_LE(run.plans().size(), 3u);
    EXPECT_GE(run.part_of_ideal(), 0.85) << "a leaf is not a row";
  }
}

TEST(whole_run, of_order_global_leaves_spares_alone) {
  balanced_options options;
  options.leaves = 2;
  options.speed = [](size_t rank, uint64_t) { return rank == 1 ? 0.25 : 1.0; };
  balanced_run run(placed_like("sorted", 4, 25, 1), options);
  run.run();
  EXPECT_TRUE(run.plans().empty()) << run.story();
  EXPECT_EQ(run.planner().state().code, balance::balance_code::at_optimum);
}

TEST(noise, moves_nothing_once_speeds_are_known) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    balanced_options options = ten_minutes(seed);
    options.noise = 0.2;
    options.speed = [seed](size_t rank, uint64_t step) {
      return all_speeds[seed % 3].of(4, rank, step, 1);
    };
    balanced_run run(placed_like("shards", 4, 25, seed), options);
    run.run();
    for (const balanced_run::landed& one : run.plans())
      EXPECT_TRUE(one.step < 1800 || one.moved == 0) << "seed " << seed << "\n"
                                                     << run.story();
  }
}

TEST(drift, is_followed_for_as_many_rows_as_it_takes) {
  balanced_options options = ten_minutes(1);
  options.speed = of_day;
  balanced_run run(placed_like("iid", 4, 25, 1), options);
  run.run();
  SCOPED_TRACE(run.story());
  EXPECT_GE(run.part_of_ideal(), 0.93);
  EXPECT_LE(double(run.moved()),
            1.2 * rows_of_hindsight(options.steps, set_rows / options.batch));
}

} // namespace
} // namespace ballast::testing
