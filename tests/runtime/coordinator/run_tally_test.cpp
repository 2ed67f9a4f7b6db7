// Goal: samples per second is a rate of training: no downtime, no undone step
// and no evaluation is in it. Method: steps with times.
#include "runtime/coordinator/run_tally.hpp"

#include "runtime/base/event_budget.hpp"

#include <gtest/gtest.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t second = 1'000'000'000;

ledger::committed_step at(uint64_t number, uint64_t t_ns,
                          uint64_t generation = 1) {
  ledger::committed_step out;
  out.step = step_number{number};
  out.epoch = epoch_number{1};
  out.generation = ballast::generation{generation};
  out.samples = 100;
  out.t_ns = t_ns;
  return out;
}

TEST(run_tally, counts_the_steps_whose_time_is_known) {
  run_tally tally;
  EXPECT_EQ(tally.samples_per_s(), 0u);
  for (uint64_t i = 1; i <= 11; ++i)
    tally.count(at(i, i * second), 1u << 20);
  EXPECT_EQ(tally.samples_per_s(), 100u);
}

TEST(run_tally, leaves_the_time_between_two_lives_out) {
  run_tally tally;
  for (uint64_t i = 1; i <= 3; ++i)
    tally.count(at(i, i * second), 1u << 20);
  tally.timed = false; // an hour later, from a checkpoint
  for (uint64_t i = 4; i <= 6; ++i)
    tally.count(at(i, (3600 + i) * second, 2), 1u << 20);
  EXPECT_EQ(tally.samples_per_s(), 100u);
}

TEST(run_tally, knows_that_the_clock_begins_again_with_the_machine) {
  run_tally tally;
  tally.count(at(1, 9000 * second), 1u << 20);
  tally.count(at(2, 9001 * second), 1u << 20);
  tally.count(at(3, 2 * second, 2), 1u << 20);
  tally.count(at(4, 3 * second, 2), 1u << 20);
  EXPECT_EQ(tally.samples_per_s(), 100u);
}

TEST(run_tally, leaves_evaluations_out) {
  run_tally tally;
  tally.count(at(1, 1 * second), 1u << 20);
  tally.evaluated_ns = 5 * second;
  tally.count(at(2, 7 * second), 1u << 20);
  EXPECT_EQ(tally.samples_per_s(), 100u);
  // One that no step followed makes nothing of what was.
  tally.evaluated_ns = 100 * second;
  EXPECT_EQ(tally.samples_per_s(), 100u);
}

TEST(sliding_rate, forgets_what_is_older_than_ten_seconds) {
  sliding_rate rate;
  EXPECT_EQ(rate.per_s(), 0u);
  uint64_t samples = 0;
  uint64_t t_ns = 0;
  for (int i = 0; i < 1000; ++i)
    rate.count(t_ns += second / 10, samples += 100);
  EXPECT_EQ(rate.per_s(), 1000u);
  for (int i = 0; i < 200; ++i)
    rate.count(t_ns += second / 10, samples += 10);
  EXPECT_EQ(rate.per_s(), 100u);
  rate.restart();
  EXPECT_EQ(rate.per_s(), 0u);
}

TEST(event_budget, writes_the_first_ones_and_then_few) {
  event_budget budget;
  int told = 0;
  for (auto now = 0s; now < 3600s; ++now)
    told += budget.take(now) ? 1 : 0;
  EXPECT_GE(told, 12);
  EXPECT_LE(told, 12 + 36);
}

} // namespace
} // namespace ballast::coordinator
