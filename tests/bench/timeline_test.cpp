// Goal: the failures that balancers of others are known for come back in
// virtual time, and ours has none of them in the same worlds.
#include "bench/policies/hill_climbing.hpp"
#include "bench/policies/region_score.hpp"
#include "bench/policies/settle.hpp"
#include "bench/policies/threshold_mover.hpp"
#include "bench/policies/timeline.hpp"

#include <gtest/gtest.h>

namespace ballast::policies {
namespace {

const band wanted;

TEST(timeline, counts_what_moves_again_and_what_comes_back) {
  balance::label_counts first(3, 1);
  first.rows = {100, 0, 0};
  move_history history(first);
  history.add({chunk_id{0}, 0, 40}, 0, 1);
  history.add({chunk_id{0}, 10, 40}, 1, 2);
  history.add({chunk_id{0}, 20, 40}, 2, 0);
  balance::label_counts last = first;
  last.rows = {80, 10, 10};
  story told = history.told(last);
  EXPECT_EQ(told.moved, 90u);
  EXPECT_EQ(told.twice, 50u);
  EXPECT_EQ(told.back, 20u);
  EXPECT_EQ(told.redundant, 70u);
}

TEST(timeline, everybody_comes_into_the_band_where_all_is_seen_at_once) {
  scenario what{.name = "all at once"};
  EXPECT_NE(play_ours(what, wanted).balanced_after, UINT64_MAX);
  for (const auto& who : all_policies(1))
    EXPECT_NE(play(*who, what, wanted).balanced_after, UINT64_MAX)
        << who->name();
}

void expect_ours_moves_each_row_once(const scenario& what) {
  story ours = play_ours(what, wanted);
  EXPECT_EQ(ours.back, 0u);
  EXPECT_EQ(ours.twice, 0u);
}

TEST(timeline, ticks_faster_than_reports_mend_an_imbalance_twice) {
  scenario slow{.name = "a tick a report"};
  scenario fast{.name = "4 ticks a report", .ticks_per_report = 4};
  hill_climbing at_once(1);
  hill_climbing late(1);
  story good = play(at_once, slow, wanted);
  story bad = play(late, fast, wanted);
  EXPECT_GT(bad.back, 10 * good.back + 1000);
  EXPECT_GT(bad.redundant, 2 * good.redundant);
  expect_ours_moves_each_row_once(fast);
}

TEST(timeline, influence_that_is_overwritten_oscillates) {
  scenario what{
      .name = "64 ticks a report", .ticks_per_report = 64, .reports = 60};
  region_score whole(1);
  region_score overwritten(1, {.influence_overwritten = true});
  story good = play(whole, what, wanted);
  story bad = play(overwritten, what, wanted);
  EXPECT_EQ(good.back, 0u);
  EXPECT_GT(bad.back, 1000u);
  expect_ours_moves_each_row_once(what);
}

TEST(timeline, more_at_once_is_more_for_nothing) {
  scenario what{
      .name = "moves of 1-8 ticks", .ticks_per_move_max = 8, .reports = 2000};
  hill_climbing few(1, {.in_flight_max = 16});
  hill_climbing many(1, {.in_flight_max = 512});
  story good = play(few, what, wanted);
  story bad = play(many, what, wanted);
  EXPECT_GT(bad.redundant, good.redundant + 1000);
  expect_ours_moves_each_row_once(what);
}

TEST(timeline, ours_moves_no_row_back_in_any_scenario) {
  for (const scenario& what : scenarios()) {
    story ours = play_ours(what, wanted);
    EXPECT_EQ(ours.back, 0u) << what.name;
    EXPECT_NE(ours.balanced_after, UINT64_MAX) << what.name;
  }
}

TEST(timeline, the_same_seed_tells_the_same_story) {
  scenario what{.name = "noise", .sorted = false, .noise = 0.1};
  threshold_mover a(7);
  threshold_mover b(7);
  story first = play(a, what, wanted);
  story second = play(b, what, wanted);
  EXPECT_EQ(first.moved, second.moved);
  EXPECT_EQ(first.back, second.back);
}

} // namespace
} // namespace ballast::policies
