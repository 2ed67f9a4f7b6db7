// Goal: no step is forgotten before the coordinator has it, and the memory for
// that is small. Method: long histories, against the records put in.
#include "runtime/worker/step_history.hpp"

#include <gtest/gtest.h>

namespace ballast::worker {
namespace {

/// Step `n` of epochs of 1,000 steps, the last one short; as workers make them:
/// the loss is a float32 sum divided by the samples.
ledger::step_record record(uint64_t n, uint64_t plan = 1) {
  uint64_t samples = n % 1000 == 0 ? 7 : 48;
  float sum = 3.7F / float(n % 97 + 1);
  return {step_number{n},
          epoch_number{1 + (n - 1) / 1000},
          plan_number{plan},
          samples,
          double(sum) / double(samples),
          5'000'000'000 + n * 80'000 + n % 13};
}

step_history of(uint64_t steps) {
  step_history out;
  for (uint64_t n = 1; n <= steps; ++n)
    out.add(record(n));
  return out;
}

void expect_equal(const ledger::step_record& got,
                  const ledger::step_record& wanted) {
  ASSERT_EQ(got.step, wanted.step);
  ASSERT_EQ(got.epoch, wanted.epoch);
  ASSERT_EQ(got.plan, wanted.plan);
  ASSERT_EQ(got.samples, wanted.samples);
  ASSERT_EQ(got.loss, wanted.loss);
  ASSERT_EQ(got.t_ns, wanted.t_ns);
}

TEST(step_history, gives_every_record_back_as_it_was) {
  step_history kept = of(200'000);
  std::vector<ledger::step_record> got = kept.after(step_number{50}, SIZE_MAX);
  ASSERT_EQ(got.size(), 199'950u);
  for (size_t i = 0; i < got.size(); ++i)
    expect_equal(got[i], record(51 + i));
}

TEST(step_history, takes_eight_bytes_a_step) {
  step_history kept = of(1'000'000);
  EXPECT_EQ(kept.size(), 1'000'000u);
  EXPECT_LT(kept.bytes(), 8'500'000u);
}

TEST(step_history, is_told_in_parts) {
  step_history kept = of(10'000);
  step_number known{};
  uint64_t told = 0;
  while (kept.goes_beyond(known)) {
    std::vector<ledger::step_record> part = kept.after(known, 3000);
    ASSERT_LE(part.size(), 3000u);
    for (const ledger::step_record& one : part)
      expect_equal(one, record(++told));
    known = part.back().step;
  }
  EXPECT_EQ(told, 10'000u);
}

TEST(step_history, forgets_only_what_is_recorded_and_old) {
  step_history kept = of(200'000);
  kept.recorded(step_number{100'000});
  EXPECT_LE(kept.after({}, 1).at(0).step, step_number{100'001});
  EXPECT_LT(kept.size(), 105'000u);
  kept.recorded(step_number{200'000});
  EXPECT_GE(kept.size(), step_history::kept);
  EXPECT_LT(kept.size(), step_history::kept + 5000);
  expect_equal(*kept.last(), record(200'000));
}

TEST(step_history, a_step_taken_again_replaces_what_came_after_it) {
  step_history kept = of(2'500);
  kept.add(record(2'400, 2));
  kept.add(record(2'401, 2));
  EXPECT_EQ(kept.size(), 2'401u);
  std::vector<ledger::step_record> got =
      kept.after(step_number{2'398}, SIZE_MAX);
  ASSERT_EQ(got.size(), 3u);
  expect_equal(got[0], record(2'399));
  expect_equal(got[1], record(2'400, 2));
  expect_equal(got[2], record(2'401, 2));
}

TEST(step_history, knows_its_newest_records) {
  step_history kept = of(5'000);
  std::vector<ledger::step_record> got = kept.newest(1'500);
  ASSERT_EQ(got.size(), 1'500u);
  expect_equal(got.front(), record(3'501));
  expect_equal(got.back(), record(5'000));
  EXPECT_EQ(of(3).newest(10).size(), 3u);
  EXPECT_FALSE(step_history{}.last());
}

TEST(step_history, keeps_records_with_gaps_and_long_pauses_apart) {
  step_history kept;
  ledger::step_record first = record(10);
  ledger::step_record late = record(11);
  late.t_ns = first.t_ns + 3'600'000'000'000;
  ledger::step_record far = record(500);
  far.t_ns = late.t_ns - 1; // another clock
  for (const ledger::step_record& one : {first, late, far})
    kept.add(one);
  std::vector<ledger::step_record> got = kept.after({}, SIZE_MAX);
  ASSERT_EQ(got.size(), 3u);
  expect_equal(got[0], first);
  expect_equal(got[1], late);
  expect_equal(got[2], far);
}

} // namespace
} // namespace ballast::worker
