/// Goal: each moment of a worker has one cause, they sum to its time, and what
/// a run is bound by is the cause that was put in. Method: steps and phases
/// told as a coordinator hears of them.
#include "runtime/coordinator/time_account.hpp"

#include <gtest/gtest.h>
#include <map>
#include <vector>

namespace ballast::coordinator::time_accounts {
namespace {

using namespace std::chrono_literals;

constexpr worker_id w1{1}, w2{2}, w3{3};
constexpr instant tick = 50ms;

double seconds(instant time) {
  return std::chrono::duration<double>(time).count();
}

progress_report steps(double data_s, double compute_s, double reduce_s) {
  progress_report out;
  out.data_ns = uint64_t(data_s * 1e9);
  out.compute_ns = uint64_t(compute_s * 1e9);
  out.reduce_ns = uint64_t(reduce_s * 1e9);
  return out;
}

struct told : ::testing::Test {
  time_account account;
  instant now = 7s;
  std::vector<worker_id> members{w1, w2, w3};
  std::vector<worker_id> others;

  void pass(run_phase phase, instant time) {
    account.pass(now, phase, members, others);
    for (const instant end = now + time; now < end;) {
      now += tick;
      account.pass(now, phase, members, others);
    }
  }
  /// So many seconds in which each worker's time is of these parts.
  void train(int time_s, const std::map<worker_id, progress_report>& each_s) {
    for (int i = 0; i < time_s; ++i) {
      for (const auto& [who, done] : each_s)
        account.worked(who, done);
      pass(run_phase::training, 1s);
    }
  }
  double spent(worker_id who, time_cause why) const {
    return seconds((*account.of(who))[why]);
  }
};

TEST_F(told, time_sums_to_that_which_passed) {
  pass(run_phase::loading, 2s);
  train(3, {{w1, steps(0.1, 0.5, 0.3)},
            {w2, steps(0, 0.7, 0.1)},
            {w3, steps(0, 0.5, 0.3)}});
  pass(run_phase::recovering, 100ms);
  train(1, {{w1, steps(0, 0.9, 0)}, {w2, steps(0, 0.9, 0)}});
  pass(run_phase::paused, 4s);
  pass(run_phase::waiting, 500ms);
  for (worker_id who : members)
    EXPECT_NEAR(seconds(account.of(who)->total()), 10.6, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::start), 2, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::data), 0.3, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::compute), 2.4, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::communication), 0.3, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::straggler), 0.6, 1e-6);
  EXPECT_NEAR(spent(w2, time_cause::straggler), 0, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::recovery), 0.1, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::paused), 4, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::waiting), 0.5, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::other), 0.4, 1e-6);
  EXPECT_NEAR(seconds(account.of_all().total()), 3 * 10.6, 1e-6);
}

TEST_F(told, a_step_across_two_windows_counts_once) {
  // Reported whole at its end, though half of it was in the second before.
  pass(run_phase::training, 1s);
  account.worked(w1, steps(0, 1.5, 0));
  pass(run_phase::training, 1s);
  pass(run_phase::training, 1s);
  const double all = seconds(account.of(w1)->total());
  EXPECT_NEAR(all, 3, 0.5) << "but for what was unexplained before";
  EXPECT_NEAR(spent(w1, time_cause::compute), 1.5, 1e-6);
}

TEST_F(told, an_evaluation_is_a_cause_of_its_own) {
  account.evaluated(w1, step_number{9}, 400'000'000);
  account.evaluated(w1, step_number{9}, 400'000'000); // told again
  train(1, {{w1, steps(0, 0.6, 0)}});
  EXPECT_NEAR(spent(w1, time_cause::evaluation), 0.4, 1e-6);
  EXPECT_NEAR(spent(w1, time_cause::other), 0, 1e-6);
}

TEST_F(told, what_was_reported_last_counts_when_it_is_asked_for) {
  train(1, {{w1, steps(0, 1, 0)}});
  account.worked(w1, steps(0, 0.3, 0));
  pass(run_phase::training, 400ms);
  EXPECT_NEAR(seconds(account.of(w1)->total()), 1, 1e-6);
  const spent_time now_known = *account.settled().of(w1);
  EXPECT_NEAR(seconds(now_known[time_cause::compute]), 1.3, 1e-6);
  EXPECT_NEAR(seconds(now_known.total()), 1.4, 1e-6);
}

TEST_F(told, a_newcomer_starts_while_the_others_train) {
  members = {w1};
  others = {w2};
  train(2, {{w1, steps(0, 1, 0)}});
  EXPECT_NEAR(spent(w2, time_cause::start), 2, 1e-6);
  EXPECT_FALSE(account.of(w3));
}

TEST_F(told, nothing_binds_before_it_trains) {
  pass(run_phase::loading, 10s);
  EXPECT_FALSE(account.bound());
}

TEST_F(told, a_run_is_bound_by_the_straggler_that_others_wait_for) {
  train(5, {{w1, steps(0, 0.4, 0.6)},
            {w2, steps(0, 0.95, 0.05)},
            {w3, steps(0, 0.5, 0.5)}});
  const auto found = account.bound();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, time_cause::straggler);
  EXPECT_EQ(found->who, w2);
  EXPECT_NEAR(found->part, 1.0 / 3, 0.01);
  EXPECT_NEAR(found->part_of_who, 0, 1e-6);
}

TEST_F(told, a_run_is_bound_by_the_rows_that_a_worker_waits_for) {
  train(5, {{w1, steps(0.6, 0.3, 0.1)},
            {w2, steps(0.1, 0.5, 0.4)},
            {w3, steps(0.5, 0.3, 0.2)}});
  const auto found = account.bound();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->why, time_cause::data);
  EXPECT_EQ(found->who, w1);
  EXPECT_NEAR(found->part_of_who, 0.6, 0.01);
}

TEST_F(told, a_run_is_bound_by_what_is_now_not_by_what_was) {
  members = {w1};
  train(60, {{w1, steps(0.8, 0.2, 0)}});
  members = {w1, w2};
  train(60, {{w1, steps(0, 0.7, 0.3)}, {w2, steps(0, 0.7, 0.3)}});
  EXPECT_EQ(account.bound()->why, time_cause::communication);
}

} // namespace
} // namespace ballast::coordinator::time_accounts
