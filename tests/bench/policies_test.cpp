// Goal: the balancers of others do what their sources say. Method: small
// clusters of which one can tell by hand what has to move.
#include "bench/policies/entropy_rebalancer.hpp"
#include "bench/policies/hill_climbing.hpp"
#include "bench/policies/least_shard.hpp"
#include "bench/policies/region_score.hpp"
#include "bench/policies/threshold_mover.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace ballast::policies {
namespace {

/// Workers of equal parts with so many units of one label each.
class cluster {
public:
  explicit cluster(const std::vector<uint64_t>& held)
      : places_(counts(held)), parts_(held.size(), 1.0 / double(held.size())),
        reported_(places_.counts()) {}

  /// Asks, and does what is wanted; how many moves that were.
  size_t ask(policy& who) {
    wanted_ = who.tick({reported_, parts_, places_, in_flight, now, told_});
    if (moves_take_time) {
      in_flight.insert(in_flight.end(), wanted_.begin(), wanted_.end());
    } else {
      for (const unit_move& one : wanted_)
        places_.move(one.unit, one.to);
    }
    ++now;
    return wanted_.size();
  }
  void land() {
    for (const unit_move& one : in_flight)
      places_.move(one.unit, one.to);
    in_flight.clear();
  }
  void report() {
    reported_ = places_.counts();
    told_ = now;
  }
  std::vector<uint64_t> held() const { return places_.counts().rows; }
  const std::vector<unit_move>& wanted() const { return wanted_; }

  bool moves_take_time = false;
  std::vector<unit_move> in_flight;
  uint64_t now = 1;

private:
  static balance::label_counts counts(const std::vector<uint64_t>& held) {
    balance::label_counts out(held.size(), 1);
    out.rows = held;
    return out;
  }
  unit_places places_;
  std::vector<double> parts_;
  balance::label_counts reported_;
  uint64_t told_ = 1;
  std::vector<unit_move> wanted_;
};

using held = std::vector<uint64_t>;

TEST(threshold_mover, takes_half_of_the_difference_from_the_fullest) {
  cluster all({10, 5, 2});
  threshold_mover mover(1);
  EXPECT_EQ(all.ask(mover), 4u);
  EXPECT_EQ(all.held(), (held{6, 5, 6}));
  all.report();
  EXPECT_EQ(all.ask(mover), 0u);
}

TEST(threshold_mover, does_the_same_again_before_a_report) {
  cluster all({10, 2});
  threshold_mover mover(1);
  all.ask(mover);
  all.ask(mover);
  EXPECT_EQ(all.held(), (held{2, 10}));
}

TEST(least_shard, takes_what_is_beyond_the_optimal_number) {
  cluster all({10, 2});
  least_shard strategy(1, {.absolute_limit = 20, .relative_limit = 1});
  all.ask(strategy);
  EXPECT_EQ(all.held(), (held{6, 6}));
}

TEST(least_shard, keeps_to_both_limits_of_a_round) {
  cluster all({100, 0});
  least_shard by_number(1, {.absolute_limit = 7, .relative_limit = 1});
  EXPECT_EQ(all.ask(by_number), 7u);
  all.report();
  least_shard by_part(1, {.absolute_limit = 50, .relative_limit = 0.1});
  EXPECT_EQ(all.ask(by_part), 10u);
}

TEST(least_shard, begins_no_round_while_one_is_in_progress) {
  cluster all({10, 2});
  all.moves_take_time = true;
  least_shard strategy(1);
  EXPECT_GT(all.ask(strategy), 0u);
  EXPECT_EQ(all.ask(strategy), 0u);
}

TEST(least_shard, leaves_a_difference_of_the_threshold) {
  cluster all({3, 2});
  least_shard strategy(1);
  EXPECT_EQ(all.ask(strategy), 0u);
}

TEST(least_shard, fills_who_is_two_short_where_nobody_has_too_many) {
  cluster all({4, 4, 2});
  least_shard strategy(1);
  EXPECT_EQ(all.ask(strategy), 1u);
  EXPECT_EQ(all.held()[2], 3u);
}

TEST(entropy_rebalancer, moves_alpha_times_scale_times_half_the_difference) {
  cluster all({900, 100});
  entropy_rebalancer worker(1);
  double entropy = -(0.9 * std::log(0.9) + 0.1 * std::log(0.1));
  double scale = (1 - std::exp(-0.1)) / 1.1;
  auto delta = uint64_t(entropy / std::log(2) * scale * 800 / 2);
  ASSERT_GT(delta, 10u);
  EXPECT_EQ(all.ask(worker), delta);
  EXPECT_EQ(all.held(), (held{900 - delta, 100 + delta}));
}

TEST(entropy_rebalancer, pairs_the_lowest_with_the_highest) {
  cluster all({900, 500, 100, 700});
  entropy_rebalancer worker(1);
  all.ask(worker);
  for (const unit_move& one : all.wanted())
    EXPECT_TRUE((one.from == 0 && one.to == 2) ||
                (one.from == 3 && one.to == 1));
}

TEST(entropy_rebalancer, ends_where_less_than_a_whole_one_would_move) {
  cluster all({30, 10});
  entropy_rebalancer worker(1);
  size_t moved = 0;
  for (int cycle = 0; cycle < 100; ++cycle) {
    moved += all.ask(worker);
    all.report();
  }
  EXPECT_LT(moved, 10u);
  EXPECT_GT(all.held()[0], 20u);
}

TEST(region_score, moves_one_region_beyond_the_tolerance) {
  cluster all({5, 2});
  region_score scheduler(1);
  EXPECT_EQ(all.ask(scheduler), 1u);
  all.report();
  EXPECT_EQ(all.ask(scheduler), 0u) << "4 - 1 is not more than 3 + 1";
}

TEST(region_score, counts_what_is_in_flight_against_a_move) {
  cluster all({12, 2});
  all.moves_take_time = true;
  region_score scheduler(1);
  EXPECT_EQ(all.ask(scheduler), 1u);
  EXPECT_EQ(all.ask(scheduler), 0u) << "12 - 5 - 1 is not more than 2 + 5 + 1";
  all.land();
  EXPECT_EQ(all.ask(scheduler), 0u) << "the stores have not reported it";
  all.report();
  EXPECT_EQ(all.ask(scheduler), 1u);
}

TEST(region_score, forgets_what_has_ended_if_it_is_overwritten) {
  // Two operators at once, from 0 to 1 and from 2 to 3, before any report.
  for (bool overwritten : {false, true}) {
    cluster all({30, 0, 29, 0});
    region_score scheduler(1, {.influence_overwritten = overwritten});
    size_t moved = 0;
    for (int tick = 0; tick < 200; ++tick)
      moved += all.ask(scheduler);
    if (overwritten)
      EXPECT_GT(moved, 30u) << "more than there was to do";
    else
      EXPECT_LE(moved, 14u);
  }
}

TEST(hill_climbing, knows_the_error_that_a_move_would_leave) {
  balance::label_counts index(2, 2);
  index.rows = {7, 1, 2, 4};
  auto error = [](const balance::label_counts& of) {
    double out = 0;
    for (size_t worker = 0; worker < 2; ++worker) {
      out += std::pow(double(of.of_worker(worker)) - 7, 2);
      out += std::pow(double(of.at(worker, 0)) - 4.5, 2);
      out += std::pow(double(of.at(worker, 1)) - 2.5, 2);
    }
    return out;
  };
  balance::label_counts after = index;
  after.rows = {6, 1, 3, 4};
  EXPECT_DOUBLE_EQ(hill_climbing::gain(index, {0.5, 0.5}, 0, 0, 1),
                   error(index) - error(after));
}

TEST(hill_climbing, goes_on_until_no_reassignment_helps) {
  cluster all({13, 0, 2});
  hill_climbing climber(1);
  // What has moved in a tick does not move again in it.
  while (all.ask(climber) > 0)
    all.report();
  EXPECT_EQ(all.held(), (held{5, 5, 5}));
}

TEST(hill_climbing, moves_so_many_at_once_and_none_that_is_moving) {
  cluster all({100, 0});
  all.moves_take_time = true;
  hill_climbing climber(1, {.in_flight_max = 3});
  EXPECT_EQ(all.ask(climber), 3u);
  EXPECT_EQ(all.ask(climber), 0u);
}

TEST(hill_climbing, mends_twice_what_is_reported_twice) {
  cluster all({100, 0});
  hill_climbing climber(1);
  all.ask(climber);
  EXPECT_EQ(all.held(), (held{50, 50}));
  all.ask(climber);
  EXPECT_EQ(all.held(), (held{0, 100}));
}

TEST(unit_places, keeps_every_unit_in_one_place) {
  balance::label_counts first(2, 2);
  first.rows = {2, 1, 0, 3};
  unit_places places(first);
  places.move(0, 1);
  places.move(2, 1);
  places.move(0, 0);
  EXPECT_EQ(places.counts().rows, (held{2, 0, 0, 4}));
  size_t units = 0;
  for (size_t worker = 0; worker < 2; ++worker)
    for (size_t label = 0; label < 2; ++label)
      for (uint32_t unit : places.units_at(worker, label)) {
        EXPECT_EQ(places.owner(unit), worker);
        EXPECT_EQ(places.label(unit), label);
        ++units;
      }
  EXPECT_EQ(units, places.units());
}

} // namespace
} // namespace ballast::policies
