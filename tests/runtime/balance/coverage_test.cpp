// Goal: a class that one worker alone holds gets a second holder, for a row or
// so, and nothing else moves for it. Method: tables, then small runs seen by
// the balancer.
#include "runtime/balance/balancer.hpp"
#include "runtime/balance/coverage.hpp"
#include "runtime/balance/explain.hpp"
#include "tests/runtime/balance/moves_fixture.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::balance {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using testing::set_builder;

/// Of workers that hold these rows by class, each in one chunk.
std::vector<lone_class> lone(const std::vector<std::vector<uint64_t>>& held) {
  set_builder out(uint32_t(held.at(0).size()));
  for (size_t rank = 0; rank < held.size(); ++rank)
    if (held[rank] != std::vector<uint64_t>(held[rank].size()))
      out.add(rank, held[rank]);
  out.set.placement.resize(held.size());
  return lone_classes(out.set, testing::placed(out.set));
}

TEST(lone_classes, are_those_with_one_holder) {
  EXPECT_THAT(lone({{5, 5}, {5, 5}}), IsEmpty());
  EXPECT_THAT(lone({{5, 5, 0}, {5, 0, 7}}),
              ElementsAre(lone_class{1, 0}, lone_class{2, 1}));
  EXPECT_THAT(lone({{5, 5}, {5, 0}, {5, 5}}), IsEmpty());
}

TEST(lone_classes, are_none_where_nobody_else_could_hold_them) {
  EXPECT_THAT(lone({{5, 5}}), IsEmpty()) << "one worker";
  EXPECT_THAT(lone({{5, 1}, {5, 0}}), IsEmpty()) << "one row";
  EXPECT_THAT(lone({{5, 5}, {0, 0}}), IsEmpty()) << "the other owns nothing";
}

TEST(lone_classes, have_a_second_holder_in_who_owns_a_part_of_the_chunk) {
  set_builder out(2);
  out.add(0, {10, 2});
  out.add(1, {10, 0});
  ledger::plan now = testing::placed(out.set);
  EXPECT_EQ(lone_classes(out.set, now).size(), 1u);
  now = moved_plan(now, {{{chunk_id{0}, 11, 12}, 0, 1, 1, 1}}, plan_number{2},
                   {});
  EXPECT_THAT(lone_classes(out.set, now), IsEmpty());
}

/// Three workers with eight chunks of two classes each; worker 0 also has the
/// few rows of a third one.
ledger::manifest rare_class(uint64_t rare_rows) {
  set_builder out(3);
  for (size_t rank = 0; rank < 3; ++rank)
    for (int i = 0; i < 8; ++i)
      out.add(rank, {50, 50, rank == 0 && i == 0 ? rare_rows : 0});
  return out.set;
}

/// Looks once, as the coordinator asks it, and does what it wants.
class run_of_rare {
public:
  explicit run_of_rare(ledger::manifest set, double skew_tv = 0.1)
      : set_(std::make_shared<ledger::manifest>(std::move(set))),
        planner({.global_batch = 240, .skew_tv = skew_tv}, set_),
        now(testing::placed(*set_)), free_bytes(now.shares.size(), UINT64_MAX) {
  }

  balance_answer look() {
    load_view view;
    view.generation = now.generation;
    view.number = now.number;
    if (seen_ != now.number)
      view.changed = now;
    seen_ = now.number;
    view.now_ms = now_ms_ += 300; // a window each
    view.step_us.assign(10, 30'000);
    view.steps_per_epoch = view.steps_left_in_epoch = 80;
    view.steps_left = 10'000;
    for (size_t rank = 0; rank < now.shares.size(); ++rank) {
      worker_load one;
      one.worker = now.shares[rank].worker;
      one.name = "w" + std::to_string(rank + 1);
      one.rows_left = rows(now.shares[rank]);
      one.store_free_bytes = free_bytes[rank];
      view.workers.push_back(one);
    }
    view.last = last_;
    last_ = transfer_end::none;
    balance_answer out = planner.observe(view);
    if (out.state.code == balance_code::planned) {
      before_ = now;
      now = moved_plan(now, out.proposal.moves, next(now.number),
                       out.proposal.weights);
      last_ = transfer_end::effective;
    }
    return out;
  }

  /// What it wanted came to nothing.
  void drop() {
    now = before_;
    last_ = transfer_end::dropped;
  }

  label_counts held() const { return count_labels(*set_, now); }
  std::vector<lone_class> lone() const { return lone_classes(*set_, now); }

private:
  std::shared_ptr<ledger::manifest> set_;
  transfer_end last_ = transfer_end::none;
  ledger::plan before_;
  plan_number seen_{};
  uint64_t now_ms_ = 0;

public:
  balancer planner;
  ledger::plan now;
  std::vector<uint64_t> free_bytes;
};

TEST(coverage, of_a_rare_class_has_a_plan_of_its_own) {
  run_of_rare run(rare_class(4));
  balance_answer got = run.look();
  ASSERT_EQ(got.state.code, balance_code::planned);
  EXPECT_EQ(got.proposal.cause, balance_cause::coverage);
  EXPECT_EQ(to_string(got.proposal.cause), "COVERAGE");
  EXPECT_EQ(got.proposal.reason, "class 2 is held by w1 alone");
  EXPECT_EQ(got.proposal.bound_rows, 1u);
  EXPECT_THAT(run.lone(), IsEmpty());
  // 104 rows with 4 of the class: 26 of them bring one.
  EXPECT_EQ(got.proposal.moved_rows, 26u);
  EXPECT_EQ(run.look().state.code, balance_code::stale_report)
      << "speeds are not known; labels are as they should be";
}

TEST(coverage, of_pure_chunks_takes_a_row_of_each_class) {
  set_builder set(4);
  for (size_t label = 0; label < 4; ++label)
    for (int i = 0; i < 5; ++i) {
      std::vector<uint64_t> pure(4);
      pure[label] = 100;
      set.add(label, pure);
    }
  run_of_rare run(set.set, 1); // whatever the skew
  balance_answer got = run.look();
  ASSERT_EQ(got.state.code, balance_code::planned);
  EXPECT_EQ(got.proposal.reason,
            "4 classes are held by one worker alone, class 0 by w1");
  EXPECT_EQ(got.proposal.moved_rows, 4u);
  EXPECT_EQ(got.proposal.bound_rows, 4u);
  EXPECT_THAT(run.lone(), IsEmpty());
  for (size_t rank = 0; rank < 4; ++rank)
    EXPECT_NEAR(double(run.held().of_worker(rank)), 500, 3);
}

TEST(coverage, is_seen_and_explained_before_anything_is_done) {
  run_of_rare run(rare_class(4));
  run.planner.set_policy({.enabled = false, .global_batch = 30});
  EXPECT_EQ(run.look().state.code, balance_code::disabled);
  auto plan = explain_plan(run.planner);
  ASSERT_EQ(plan["held_alone"].size(), 1u);
  EXPECT_EQ(plan["held_alone"][0]["class"], 2);
  EXPECT_EQ(plan["held_alone"][0]["rows"], 4);
  EXPECT_EQ(plan["held_alone"][0]["worker"], "w1");
  EXPECT_EQ(plan["before"]["classes_held_alone"], 1);
  EXPECT_EQ(plan["after"]["classes_held_alone"], 0);
  EXPECT_EQ(explain_worker(run.planner, 0)["holds_alone"].size(), 1u);
  EXPECT_EQ(explain_worker(run.planner, 1)["holds_alone"].size(), 0u);
}

TEST(coverage, goes_to_somebody_who_has_room) {
  run_of_rare run(rare_class(4));
  run.free_bytes = {0, 0, UINT64_MAX};
  balance_answer got = run.look();
  ASSERT_EQ(got.state.code, balance_code::planned);
  for (const shard_move& one : got.proposal.moves)
    EXPECT_EQ(one.to, 2u);
}

TEST(coverage, waits_where_nobody_has_room_and_says_so) {
  run_of_rare run(rare_class(4));
  run.free_bytes = {0, 0, 0};
  EXPECT_EQ(run.look().state.code, balance_code::no_room);
  EXPECT_EQ(explain_worker(run.planner, 0)["reason"],
            "those who should get something have no memory left for it");
}

// With thousands of values to count rows by, a search takes its time.
TEST(coverage, is_looked_for_ever_less_often_where_nobody_has_room) {
  run_of_rare run(rare_class(4));
  run.free_bytes = {0, 0, 0};
  for (int looks = 0; looks < 20; ++looks)
    EXPECT_EQ(run.look().state.code, balance_code::no_room);
  run.free_bytes = {0, 0, UINT64_MAX};
  uint64_t looks = 1;
  while (run.look().state.code != balance_code::planned && looks < 100)
    ++looks;
  EXPECT_GT(looks, 4u);
  EXPECT_LE(looks, balance_policy().search_windows_max);
}

// Speeds that never come to rest ask for another plan at every look.
TEST(coverage, is_not_put_off_for_ever_by_what_is_due_before_it) {
  set_builder set(3);
  for (int i = 0; i < 8; ++i) {
    set.add(0, {50, 50, i == 0 ? 4u : 0u});
    set.add(1, {100, 0, 0});
    set.add(2, {0, 100, 0});
  }
  run_of_rare run(set.set);
  size_t by_skew = 0;
  for (int look = 0; look < 30 && !run.lone().empty(); ++look) {
    balance_answer got = run.look();
    if (got.state.code != balance_code::planned ||
        got.proposal.cause != balance_cause::skew)
      continue;
    ++by_skew;
    run.drop();
  }
  EXPECT_GT(by_skew, 1u) << "they go first";
  EXPECT_THAT(run.lone(), IsEmpty());
  while (run.look().state.code != balance_code::planned)
    ASSERT_NE(run.planner.state().code, balance_code::at_optimum);
}

TEST(coverage, asks_nothing_of_a_single_row) {
  run_of_rare run(rare_class(1));
  EXPECT_NE(run.look().state.code, balance_code::planned);
}

} // namespace
} // namespace ballast::balance
