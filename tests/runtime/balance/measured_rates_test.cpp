// Goal: link rates are what was measured, a hiccup does not change them, and
// the balancer reckons with them. Method: tables, then one balancer.
#include "runtime/balance/measured_rates.hpp"

#include "runtime/balance/balancer.hpp"
#include "runtime/balance/explain.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::balance {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr uint64_t ms = 1'000'000;
constexpr worker_id origin{}, w1{1}, w2{2}, w3{3};

measured_rates measured(const std::vector<link_copy>& copies) {
  measured_rates out;
  for (const link_copy& one : copies)
    out.add(one);
  return out;
}

TEST(measured_rates, know_nothing_before_the_first_few_copies) {
  measured_rates none;
  EXPECT_FALSE(none.between(w1, w2));
  EXPECT_FALSE(none.into(w2));
  measured_rates two = measured({{w1, w2, 1000, ms}, {w1, w2, 1000, ms}});
  EXPECT_FALSE(two.between(w1, w2));
  two.add({w3, w2, 1000, ms});
  EXPECT_FALSE(two.between(w1, w2));
  EXPECT_DOUBLE_EQ(*two.into(w2), 1e6);
}

TEST(measured_rates, are_known_from_a_single_copy_of_enough_bytes) {
  measured_rates reads{4000};
  reads.add({origin, w1, 3999, ms});
  EXPECT_FALSE(reads.into(w1));
  reads.add({origin, w2, 4000, ms});
  EXPECT_DOUBLE_EQ(*reads.into(w2), 4e6);
}

TEST(measured_rates, are_those_of_the_bytes_in_the_middle) {
  measured_rates links = measured({{w1, w2, 1000, ms},
                                   {w1, w2, 1000, ms},
                                   {w1, w2, 1000, 500 * ms}, // a hiccup
                                   {w1, w2, 10, ms},         // mere latency
                                   {w1, w2, 10, ms},
                                   {w1, w2, 10, ms},
                                   {w1, w2, 10, ms}});
  EXPECT_DOUBLE_EQ(*links.between(w1, w2), 1e6);
}

TEST(measured_rates, forget_old_copies_and_those_who_are_gone) {
  measured_rates links;
  for (int i = 0; i < 100; ++i)
    links.add({w1, w2, 1000, 10 * ms});
  for (int i = 0; i < 100; ++i)
    links.add({w1, w2, 1000, ms});
  EXPECT_DOUBLE_EQ(*links.between(w1, w2), 1e6);
  for (int i = 0; i < 3; ++i)
    links.add({origin, w2, 1000, ms});
  EXPECT_THAT(links.sources_of(w2), ElementsAre(Pair(origin, 3), Pair(w1, 32)));
  links.keep({w2, w3});
  EXPECT_FALSE(links.between(w1, w2));
  EXPECT_TRUE(links.between(origin, w2)) << "the origin is always there";
  links.keep({w3});
  EXPECT_FALSE(links.into(w2));
}

TEST(measured_rates, take_no_nonsense) {
  measured_rates links =
      measured({{w1, w2, 0, ms}, {w1, w2, 5, 0}, {w1, w2, 0, 0}});
  EXPECT_TRUE(links.sources_of(w2).empty());
}

shard_move move_of(uint32_t from, uint32_t to, uint64_t bytes) {
  return {{chunk_id{0}, 0, 1}, from, to, bytes, 1};
}

TEST(travel, adds_up_for_a_receiver_and_runs_side_by_side_for_others) {
  measured_rates links;
  for (int i = 0; i < 3; ++i) {
    links.add({w1, w2, 1000, ms}); // 1 MB/s
    links.add({w1, w3, 2000, ms}); // 2 MB/s
    links.add({w2, w3, 500, ms});  // 0.5 MB/s
  }
  std::vector<worker_id> ranks{w1, w2, w3};
  EXPECT_DOUBLE_EQ(travel_s({}, ranks, links), 0);
  EXPECT_DOUBLE_EQ(travel_s({move_of(0, 1, 1'000'000)}, ranks, links), 1);
  EXPECT_DOUBLE_EQ(
      travel_s({move_of(0, 1, 1'000'000), move_of(0, 2, 1'000'000)}, ranks,
               links),
      1)
      << "side by side";
  EXPECT_DOUBLE_EQ(
      travel_s({move_of(0, 2, 1'000'000), move_of(1, 2, 1'000'000)}, ranks,
               links),
      2.5);
  EXPECT_DOUBLE_EQ(travel_s({move_of(1, 0, 1'000'000)}, ranks, links), 0)
      << "nobody knows";
}

TEST(travel, is_cut_to_a_time_but_never_to_nothing) {
  measured_rates links;
  for (int i = 0; i < 3; ++i)
    links.add({w1, w2, 1000, ms});
  std::vector<worker_id> ranks{w1, w2};
  std::vector<shard_move> moves(4, move_of(0, 1, 1'000'000));
  EXPECT_EQ(fit_in_travel(moves, 4, ranks, links), 4u);
  EXPECT_EQ(fit_in_travel(moves, 2.5, ranks, links), 2u);
  EXPECT_EQ(fit_in_travel(moves, 0.1, ranks, links), 1u);
}

/// Two classes, each at one of two workers.
class balancer_with_links : public ::testing::Test {
protected:
  balancer_with_links() {
    testing::set_builder set(2);
    for (int i = 0; i < 20; ++i) {
      set.add(0, {100, 0});
      set.add(1, {0, 100});
    }
    set_ = std::make_shared<ledger::manifest>(set.set);
    planner_ = std::make_unique<balancer>(
        balance_policy{.global_batch = 20, .skew_tv = 0.05}, set_);
    now_ = testing::placed(*set_);
  }

  balance_answer look(std::vector<link_copy> copies, uint64_t steps_left) {
    load_view view;
    view.generation = now_.generation;
    view.number = now_.number;
    view.changed = now_;
    view.steps_per_epoch = view.steps_left_in_epoch = 100;
    view.steps_left = steps_left;
    for (const ledger::share& one : now_.shares) {
      view.workers.push_back(
          {one.worker, "w" + to_string(one.worker), rows(one), {}, UINT64_MAX});
      view.workers.back().costs.assign(20, {10, 10 * ms}); // 1 ms a row
    }
    view.copies = std::move(copies);
    return planner_->observe(view);
  }

  /// Both ways, so many bytes a second.
  static std::vector<link_copy> at(uint64_t bytes_per_s) {
    std::vector<link_copy> out;
    for (int i = 0; i < 3; ++i) {
      out.push_back({w1, w2, bytes_per_s, 1000 * ms});
      out.push_back({w2, w1, bytes_per_s, 1000 * ms});
    }
    return out;
  }

  std::shared_ptr<ledger::manifest> set_;
  std::unique_ptr<balancer> planner_;
  ledger::plan now_;
};

TEST_F(balancer_with_links, moves_as_much_as_a_slow_link_takes_in_a_round) {
  uint64_t all = look({}, 10'000).proposal.moved_bytes;
  // Four chunks a second and direction; a round is half a second.
  uint64_t slow =
      look(at(4 * 100 * testing::row_bytes), 10'000).proposal.moved_bytes;
  EXPECT_GT(all, 10 * 100 * testing::row_bytes);
  EXPECT_LE(slow, 4 * 100 * testing::row_bytes);
  EXPECT_GT(slow, 0u);
}

TEST_F(balancer_with_links, finds_no_payback_over_a_link_that_is_too_slow) {
  EXPECT_EQ(look({}, 50).state.code, balance_code::planned);
  // A chunk takes minutes; what is left of the run, half a second.
  EXPECT_EQ(look(at(100), 50).state.code, balance_code::payback);
}

// It had stopped for good once a round took less than a chunk.
TEST_F(balancer_with_links, moves_a_chunk_however_low_the_rate_has_fallen) {
  planner_ = std::make_unique<balancer>(
      balance_policy{
          .global_batch = 20, .skew_tv = 0.05, .rate_bytes_per_s = 1000},
      set_);
  EXPECT_EQ(look({}, 1'000'000).proposal.moves.size(), 1u);
}

TEST_F(balancer_with_links, shows_what_it_measured) {
  look(at(5000), 50);
  EXPECT_THAT(planner_->state().copy_bytes_per_s, ElementsAre(5000, 5000));
  auto told = explain_worker(*planner_, 1)["copies"];
  EXPECT_EQ(told["bytes_per_s"], 5000);
  EXPECT_EQ(told["from"]["w1"]["bytes_per_s"], 5000);
  EXPECT_EQ(told["from"]["w1"]["copies"], 3);
  EXPECT_GT(told["limit_bytes_per_s"], 0);
  EXPECT_GT(explain_plan(*planner_)["takes_s"], 100);
}

} // namespace
} // namespace ballast::balance
