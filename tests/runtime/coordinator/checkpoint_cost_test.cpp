/// Goal: what a checkpoint costs is what its steps take longer than others, and
/// the interval that is advised is the cheapest one. Method: steps with times,
/// worked out by hand; the interval against a search over all of them.
#include "runtime/coordinator/checkpoint_cost.hpp"

#include "runtime/coordinator/status.hpp"
#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <cmath>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t ms = 1'000'000;
constexpr double day_s = 86'400;

class checkpoint_costs : public ::testing::Test {
protected:
  /// One that takes so long.
  void step(uint64_t took_ms = 100, uint64_t evaluated_ms = 0) {
    at_ms_ += took_ms;
    ledger::committed_step out;
    out.step = step_number{++number_};
    out.epoch = epoch_number{1};
    out.generation = generation_;
    out.t_ns = at_ms_ * ms;
    cost_.step(out, evaluated_ms * ms);
  }
  void steps(uint64_t count, uint64_t took_ms = 100) {
    for (uint64_t i = 0; i < count; ++i)
      step(took_ms);
  }
  void copied() { cost_.copied(copy_ = step_number{number_}, now()); }
  void saved(bool published = true) { cost_.saved(copy_, published, now()); }
  instant now() const { return std::chrono::milliseconds(at_ms_); }
  checkpoint_figures figures() const {
    return cost_.figures(asked_, step_number{40});
  }
  /// A copy, saved in 400 ms; the steps beside it take these times.
  void checkpoint(const std::vector<uint64_t>& took_ms) {
    copied();
    for (uint64_t one : took_ms)
      step(one);
    saved();
    steps(10);
  }

  checkpoint_cost cost_;
  checkpoint_spec asked_{.every_steps = 20, .every_s = 10};
  generation generation_{1};
  uint64_t number_ = 0;
  uint64_t at_ms_ = 5000;
  step_number copy_{};
};

TEST_F(checkpoint_costs, are_unknown_before_there_was_one) {
  EXPECT_FALSE(figures().step_s);
  steps(20);
  EXPECT_DOUBLE_EQ(figures().step_s.value(), 0.1);
  EXPECT_FALSE(figures().cost);
  EXPECT_EQ(figures().newest, step_number{40});
}

TEST_F(checkpoint_costs, are_what_the_steps_take_longer_until_it_is_saved) {
  steps(21);
  checkpoint({130, 110, 100, 100}); // 40 ms more than four usual steps
  const auto cost = figures().cost.value();
  EXPECT_NEAR(cost.pause_s, 0.04, 1e-9);
  EXPECT_NEAR(cost.saved_s, 0.44, 1e-9);
}

TEST_F(checkpoint_costs, count_two_steps_of_one_that_is_saved_at_once) {
  steps(21);
  copied();
  saved();
  step(101);
  EXPECT_FALSE(figures().cost) << "the others may be kept waiting in the next";
  step(129);
  EXPECT_NEAR(figures().cost.value().pause_s, 0.03, 1e-9);
  EXPECT_NEAR(figures().cost->saved_s, 0, 1e-9);
}

TEST_F(checkpoint_costs, are_the_usual_ones_not_those_of_a_bad_moment) {
  steps(21);
  checkpoint({120});
  checkpoint({5000});
  checkpoint({122});
  EXPECT_NEAR(figures().cost.value().pause_s, 0.022, 1e-9);
}

TEST_F(checkpoint_costs, are_compared_with_steps_that_nothing_held_up) {
  steps(21);
  step(3000);
  checkpoint({140, 100});
  EXPECT_NEAR(figures().cost.value().pause_s, 0.04, 1e-9);
  EXPECT_DOUBLE_EQ(figures().step_s.value(), 0.1);
}

TEST_F(checkpoint_costs, are_never_less_than_nothing) {
  steps(21);
  checkpoint({90, 90, 90});
  EXPECT_EQ(figures().cost.value().pause_s, 0);
}

TEST_F(checkpoint_costs, leave_evaluations_and_other_generations_out) {
  steps(21);
  copied();
  step(700, 600); // an evaluation between the two
  step(120);
  saved();
  EXPECT_NEAR(figures().cost.value().pause_s, 0.02, 1e-9);
  copied();
  generation_ = generation{2};
  step(4000);
  steps(2);
  saved();
  EXPECT_NEAR(figures().cost.value().pause_s, 0.02, 1e-9)
      << "what a recovery takes is not told from what the copy takes";
}

TEST_F(checkpoint_costs, are_compared_with_steps_of_the_same_workers) {
  steps(100);
  generation_ = generation{2};
  steps(2, 200);
  EXPECT_DOUBLE_EQ(figures().step_s.value(), 0.1) << "too few of the new ones";
  steps(8, 200);
  copied();
  step(240);
  step(200);
  saved();
  EXPECT_DOUBLE_EQ(figures().step_s.value(), 0.2);
  EXPECT_NEAR(figures().cost.value().pause_s, 0.04, 1e-9);
}

TEST_F(checkpoint_costs, of_one_that_was_not_saved_do_not_count) {
  steps(21);
  copied();
  step(300);
  saved(false);
  steps(5);
  EXPECT_FALSE(figures().cost);
}

TEST_F(checkpoint_costs, count_steps_that_were_told_before_the_copy) {
  steps(21);
  copy_ = step_number{number_};
  step(150);
  cost_.copied(copy_, now());
  step(100);
  saved();
  EXPECT_NEAR(figures().cost.value().pause_s, 0.05, 1e-9);
}

TEST_F(checkpoint_costs, of_the_settings_are_those_of_a_round_of_steps) {
  steps(21);
  checkpoint({150, 150, 100, 100}); // 100 ms; saved in 500 ms
  // After 20 steps of 0.1 s each, and not within 10 s: every 100 steps.
  checkpoint_figures shown = figures();
  EXPECT_NEAR(shown.cost->now.interval_s, 10.1, 1e-9);
  EXPECT_NEAR(shown.cost->now.pause_ratio, 0.1 / 10.1, 1e-12);
  EXPECT_NEAR(shown.cost->now.lost_s, 10.1 / 2 + 0.5, 1e-9);
  EXPECT_NEAR(shown.cost->now.waste_ratio, 0.1 / 10.1 + 5.55 / day_s, 1e-9);
  asked_.every_s = 0;
  EXPECT_NEAR(figures().cost->now.interval_s, 2.1, 1e-9);
  asked_.every_steps = 1; // one that is due waits for the one before
  EXPECT_NEAR(figures().cost->now.interval_s, 0.5, 1e-9);
  asked_.every_steps = 10'000;
  EXPECT_NEAR(figures().cost->now.interval_s, 1000.1, 1e-9);
}

TEST_F(checkpoint_costs, are_least_at_the_interval_that_is_advised) {
  steps(21);
  checkpoint({150, 150, 100, 100});
  const checkpoint_figures shown = figures();
  EXPECT_TRUE(shown.assumed);
  EXPECT_EQ(shown.mttf_s, day_s);
  // The root of 2 * 0.1 s * 86400 s is 131.45 s.
  EXPECT_NEAR(shown.cost->best.interval_s, 131.45, 0.1);
  EXPECT_EQ(shown.cost->advice.every_s, 131u);
  EXPECT_EQ(shown.cost->advice.every_steps, 20u) << "fine enough as it is";
  EXPECT_LT(shown.cost->best.waste_ratio, shown.cost->now.waste_ratio);
  asked_.every_steps = 100'000;
  EXPECT_EQ(figures().cost->advice.every_steps, 1313u);
}

TEST_F(checkpoint_costs, advise_steps_where_seconds_are_too_coarse) {
  steps(21);
  checkpoint({101, 101}); // 2 ms; saved in 202 ms
  cost_.restore(60'000 * ms, 20);
  // The root of 2 * 0.002 s * 3 s is 0.11 s: less than one takes to be saved.
  const checkpoint_figures shown = figures();
  EXPECT_EQ(shown.mttf_s, 3);
  EXPECT_NEAR(shown.cost->best.interval_s, 0.202, 1e-9);
  EXPECT_EQ(shown.cost->advice.every_s, 0u);
  EXPECT_EQ(shown.cost->advice.every_steps, 2u);
}

TEST_F(checkpoint_costs, take_the_failures_that_were_seen) {
  cost_.restore(1'000'000 * ms, 1);
  step();
  steps(20);
  cost_.went_back();
  number_ = 10;
  at_ms_ += 30'000; // nobody trains
  steps(11);
  const checkpoint_figures shown = figures();
  EXPECT_EQ(shown.undone, 2u);
  EXPECT_FALSE(shown.assumed);
  EXPECT_DOUBLE_EQ(shown.trained_s, 1000 + 2 + 1);
  EXPECT_DOUBLE_EQ(shown.mttf_s, 1003.0 / 2);
}

TEST_F(checkpoint_costs, assume_a_failure_a_day_or_less_if_none_was_seen) {
  cost_.restore(3'600'000 * ms, 0);
  EXPECT_EQ(figures().mttf_s, day_s);
  cost_.restore(360'000'000ULL * ms, 0);
  EXPECT_TRUE(figures().assumed);
  EXPECT_EQ(figures().mttf_s, 360'000) << "it went well for longer than a day";
}

TEST_F(checkpoint_costs, are_measured_again_after_the_way_back) {
  steps(21);
  copied();
  step(150);
  cost_.went_back();
  number_ = 15;
  generation_ = generation{2};
  saved();
  steps(3);
  EXPECT_FALSE(figures().cost) << "the copy is of steps that are undone";
  checkpoint({110, 100});
  EXPECT_NEAR(figures().cost.value().pause_s, 0.01, 1e-9);
}

/// The part of the time that is lost where a failure comes at any moment with
/// the same chance: (exp((t + c) / m) - 1) m / t - 1, with no time to restart.
double expected_waste(double work_s, double pause_s, double mttf_s) {
  return mttf_s * std::expm1((work_s + pause_s) / mttf_s) / work_s - 1;
}

TEST(best_work, is_the_cheapest_interval) {
  for (double pause_s : {0.001, 0.05, 0.3, 2.0, 60.0})
    for (double mttf_s : {100.0, 3600.0, day_s}) {
      double least = INFINITY;
      for (double work_s = 1e-3; work_s < 1e6; work_s *= 1.002)
        least = std::min(least, expected_waste(work_s, pause_s, mttf_s));
      const double best = best_work_s(pause_s, mttf_s);
      EXPECT_LT(expected_waste(best, pause_s, mttf_s), least * 1.01 + 1e-12)
          << pause_s << " s every " << mttf_s << " s: " << best << " s";
    }
}

TEST(best_work, is_youngs_where_the_pause_is_short) {
  EXPECT_NEAR(best_work_s(0.05, day_s), std::sqrt(2 * 0.05 * day_s), 0.05);
  EXPECT_EQ(best_work_s(0, day_s), 0);
  EXPECT_EQ(best_work_s(500, 100), 100) << "hopeless, but finite";
}

TEST(checkpoint_costs_of_a_run, are_in_its_status) {
  driver d;
  d.train({"w1", "w2"});
  d.apply_steps(2);
  d.core.take(state_copied{d.core.generation()->workers[0], generation{1},
                           step_number{2}});
  EXPECT_EQ(d.core.run().cost.figures({}, {}).undone, 0u);
  for (worker_id who : std::vector(d.core.generation()->workers))
    d.core.take(connection_lost{who, closed}, d.now);
  ASSERT_EQ(d.core.last().step, step_number{0});
  const auto status = status_of(d.core, d.now);
  ASSERT_TRUE(status.run);
  EXPECT_EQ(status.run->checkpoint.undone, 1u);
  EXPECT_EQ(status.run->checkpoint.newest, step_number{0});
  EXPECT_FALSE(status.run->checkpoint.assumed);
}

} // namespace
} // namespace ballast::coordinator
