// What happens to the others when a rank's process is killed, stopped, leaves
// or aborts: real processes, at every phase and at random times. Each round is
// one generation; survivors go on into the next with a replacement.
#include "gpu/drill.hpp"
#include "tests/collectives/harness.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <optional>

namespace ballast::collectives {
namespace {

/// The children of run_drill come in here; skipped otherwise.
TEST(collective_drill, DISABLED_rank) {
  if (!gpu::is_drill_rank()) {
    GTEST_SKIP();
  }
  int code = gpu::run_drill_rank();
  ASSERT_EQ(code, 0);
}

uint64_t seed() {
  const char* text = std::getenv("BALLAST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 1;
}

/// More rounds for a long run.
int rounds(int usual) {
  const char* text = std::getenv("BALLAST_DRILL_ROUNDS");
  return text != nullptr               ? std::atoi(text)
         : ballast::testing::sanitized ? (usual + 1) / 2
                                       : usual;
}

gpu::drill_plan plan_for(const std::string& backend, int ranks,
                         int some_rounds) {
  gpu::drill_plan plan;
  plan.backend = backend == "ring-two-hosts" ? "ring" : backend;
  plan.hosts = backend == "ring-two-hosts" ? 2 : 1;
  plan.ranks = ranks;
  plan.rounds = rounds(some_rounds);
  plan.seed = seed();
  plan.child = {"collective_drill_rank",
                "--gtest_filter=collective_drill.DISABLED_rank",
                "--gtest_also_run_disabled_tests", "--gtest_brief=1"};
  return plan;
}

gpu::drill_report expect_well(const gpu::drill_plan& plan) {
  gpu::drill_report report = run_drill(plan);
  std::string where = plan.where ? to_string(*plan.where) : "any time";
  EXPECT_TRUE(report.well())
      << plan.backend << ", " << plan.ranks << " ranks, "
      << to_string(plan.what) << " at " << where << ", seed " << plan.seed
      << ": " << report.crashes << " crashes, " << report.hangs << " hangs; "
      << (report.complaints.empty() ? "" : report.complaints.front());
  EXPECT_EQ(report.out_ms.size(), static_cast<size_t>(plan.rounds));
  return report;
}

class ring_faults : public ::testing::TestWithParam<std::string> {
protected:
  /// Two rounds at every place where something can happen.
  void at_every_phase(gpu::harm what, int ranks) {
    for (int point = 0; point < fault_point_count; ++point) {
      if (ballast::testing::sanitized && what != gpu::harm::kill &&
          point % 2 == 0) {
        continue;
      }
      gpu::drill_plan plan = plan_for(GetParam(), ranks, 2);
      plan.where = static_cast<fault_point>(point);
      plan.what = what;
      expect_well(plan);
    }
  }
};

TEST_P(ring_faults, survivors_leave_when_a_rank_is_killed_at_any_time) {
  for (int ranks : {2, 3, 5, 8}) {
    expect_well(plan_for(GetParam(), ranks, 6));
  }
}

TEST_P(ring_faults, survivors_leave_when_a_rank_is_killed_at_every_phase) {
  at_every_phase(gpu::harm::kill, 4);
}

TEST_P(ring_faults, survivors_leave_when_a_rank_exits_at_every_phase) {
  at_every_phase(gpu::harm::exit, 3);
}

TEST_P(ring_faults, abort_frees_everybody_at_every_phase) {
  at_every_phase(gpu::harm::abort, 4);
}

// A stopped process is no error for the others; the control plane aborts them.
// When it wakes up it must find that its generation is over.
TEST_P(ring_faults, a_stopped_rank_holds_nobody_after_an_abort) {
  for (int ranks : {2, 4}) {
    gpu::drill_plan plan = plan_for(GetParam(), ranks, 3);
    plan.what = gpu::harm::stop;
    expect_well(plan);
  }
}

TEST_P(ring_faults, a_rank_stopped_at_any_phase_holds_nobody) {
  at_every_phase(gpu::harm::stop, 3);
}

INSTANTIATE_TEST_SUITE_P(all, ring_faults,
                         ::testing::Values("ring-shm", "ring-tcp",
                                           "ring-two-hosts"),
                         ballast::testing::suite_test_name);

// Gloo tells a dead rank's neighbours only, and an abort frees one rank: all
// that can be asked of the others is to be out at the deadline, and no crash.
class gloo_faults : public ::testing::TestWithParam<gpu::harm> {};

TEST_P(gloo_faults, survivors_are_out_at_their_deadline_and_nobody_crashes) {
  const std::optional<fault_point> points[] = {
      std::nullopt, fault_point::before_open, fault_point::after_open,
      fault_point::operation, fault_point::finished};
  for (const auto& point : points) {
    if (!point && GetParam() != gpu::harm::kill &&
        GetParam() != gpu::harm::stop) {
      continue; // what comes from outside is a signal
    }
    gpu::drill_plan plan = plan_for("gloo", 4, 2);
    plan.where = point;
    plan.what = GetParam();
    plan.operation = std::chrono::milliseconds(1000);
    plan.sees_death = false;
    gpu::drill_report report = expect_well(plan);
    ASSERT_EQ(report.operation_ms.size(), report.out_ms.size());
    for (size_t i = 0; i < report.out_ms.size(); ++i) {
      EXPECT_LT(report.out_ms[i], 5 * report.operation_ms[i]);
    }
  }
}

/// No machine sums so much in a millisecond.
gpu::drill_plan hasty_plan() {
  gpu::drill_plan plan = plan_for("gloo", 3, 1);
  plan.rounds = 1;
  plan.where = fault_point::finished;
  plan.floats = size_t{1} << 22;
  plan.operation = std::chrono::milliseconds(1);
  return plan;
}

// As on a machine that is busy with something else.
TEST(collective_drill, begins_a_round_again_whose_deadline_is_too_short) {
  gpu::drill_plan plan = hasty_plan();
  plan.sees_death = false;
  gpu::drill_report report = expect_well(plan);
  ASSERT_EQ(report.operation_ms.size(), 1u);
  EXPECT_GT(report.operation_ms[0], 1);
}

TEST(collective_drill, calls_a_short_deadline_an_error_where_death_is_seen) {
  EXPECT_FALSE(run_drill(hasty_plan()).well());
}

INSTANTIATE_TEST_SUITE_P(all, gloo_faults,
                         ::testing::Values(gpu::harm::kill, gpu::harm::stop,
                                           gpu::harm::exit, gpu::harm::abort),
                         [](const auto& info) {
                           return to_string(info.param);
                         });

} // namespace
} // namespace ballast::collectives
