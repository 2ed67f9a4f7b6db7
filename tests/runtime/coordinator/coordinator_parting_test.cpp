// Goal: workers that all leave hand their state to another one, or to the disk,
// before they are let go. Method: a driven core and its clock.
#include "coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

size_t orders(const actions& list, command_kind kind) {
  size_t out = 0;
  for (const send_command& one : pick<send_command>(list))
    out += one.what.kind == kind ? 1 : 0;
  return out;
}

/// The next membership, up to its switch; what all ready came to.
actions switch_to(driver& d, const balance::place_shares& place,
                  step_number base) {
  d.core.take(shares_placed{balance::repaired_plan(
                                d.chunks(), 0.1, place.before, place.workers,
                                place.generation, place.number),
                            std::vector<share_summary>(place.workers.size())},
              d.now);
  actions out;
  for (worker_id who : place.workers)
    d.core.take(worker_loaded{who, place.generation, "c", "d"}, d.now);
  for (worker_id who : place.workers)
    out = d.core.take(worker_ready{who, place.generation, base}, d.now);
  return out;
}

TEST(parting, the_only_worker_hands_over_before_it_leaves) {
  driver d;
  d.batch = 10; // many steps
  d.train({"w1"});
  d.apply_steps(1);
  worker_id old = d.workers[0];
  EXPECT_FALSE(d.core.ask(drain_request{"w1"}).refused);
  d.core.take(clock_tick{}, d.now);
  worker_id fresh = d.join("w2").accepted->worker;
  auto both = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
  ASSERT_THAT(both, SizeIs(1));
  EXPECT_THAT(both[0].workers, ElementsAre(old, fresh));
  EXPECT_EQ(orders(switch_to(d, both[0], step_number{1}), command_kind::leave),
            0u);
  auto alone = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
  ASSERT_THAT(alone, SizeIs(1));
  EXPECT_THAT(alone[0].workers, ElementsAre(fresh));
  auto told = pick<send_command>(switch_to(d, alone[0], step_number{2}));
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told[0].to, old);
  EXPECT_EQ(told[0].what.kind, command_kind::leave);
}

// The step before a switch ended an epoch: its evaluation takes longer than the
// news of the switch.
TEST(parting, an_evaluation_of_before_the_switch_counts) {
  driver d;
  d.batch = 10;
  d.train({"w1"});
  d.apply_steps(1);
  worker_id old = d.workers[0];
  d.core.ask(drain_request{"w1"});
  d.core.take(clock_tick{}, d.now);
  d.join("w2");
  auto both = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
  switch_to(d, both.at(0), step_number{1});
  evaluation_report late;
  late.worker = old;
  late.generation = generation{1};
  late.epoch = epoch_number{1};
  late.step = step_number{10};
  EXPECT_THAT(pick<write_event>(d.core.take(late)), SizeIs(1));
  auto alone = pick<balance::place_shares>(d.core.take(clock_tick{}, d.now));
  switch_to(d, alone.at(0), step_number{2});
  late.generation = generation{2};
  late.epoch = epoch_number{2};
  late.step = step_number{20};
  EXPECT_THAT(pick<write_event>(d.core.take(late)), SizeIs(1));
  late.generation = generation{1};
  late.epoch = epoch_number{3};
  late.step = step_number{30};
  EXPECT_THAT(pick<write_event>(d.core.take(late)), IsEmpty());
}

TEST(parting, a_replacement_is_started_for_the_last_one) {
  driver d(true);
  d.batch = 10;
  d.train({"w1"});
  d.apply_steps(1);
  d.core.ask(drain_request{"w1"});
  EXPECT_THAT(pick<start_worker>(d.core.take(clock_tick{}, d.now)), SizeIs(1));
}

TEST(parting, the_state_goes_to_the_disk_where_no_other_worker_comes) {
  driver d;
  d.batch = 10;
  d.train({"w1"});
  d.apply_steps(1);
  d.core.ask(drain_request{"w1"});
  actions first = d.core.take(clock_tick{}, 1s);
  EXPECT_EQ(orders(first, command_kind::checkpoint), 1u)
      << "whatever its end is like";
  EXPECT_FALSE(told<events::waiting>(first).empty());
  EXPECT_THAT(pick<send_command>(d.core.take(clock_tick{}, 20s)), IsEmpty());
  EXPECT_EQ(orders(d.core.take(clock_tick{}, 26s), command_kind::stop), 1u);
  d.apply_steps(3);
  d.core.take(state_copied{d.workers[0], generation{1}, step_number{3}});
  actions over = d.core.take(worker_finished{d.workers[0], generation{1},
                                             step_number{3}, true, "sha"});
  EXPECT_EQ(orders(over, command_kind::leave), 0u);
  actions saved = d.core.take(
      checkpoint_written{*d.core.run().copies.on_its_way(), "the file", {}},
      26s);
  EXPECT_EQ(orders(saved, command_kind::leave), 1u);
  EXPECT_THAT(pick<end_run>(saved), IsEmpty());
  EXPECT_THAT(pick<undo_steps>(saved), IsEmpty());
  EXPECT_EQ(d.core.phase(), run_phase::waiting);
  EXPECT_NE(d.core.run().delay.why().find("the file"), std::string::npos);
  actions on = d.join("w2").then;
  ASSERT_THAT(pick<serve_checkpoint>(on), SizeIs(1));
  EXPECT_EQ(pick<serve_checkpoint>(on)[0].file, "the file");
  EXPECT_THAT(pick<balance::place_shares>(on), SizeIs(1));
}

TEST(parting, a_stop_meanwhile_ends_the_run) {
  driver d;
  d.batch = 10;
  d.train({"w1"});
  d.apply_steps(1);
  d.core.ask(drain_request{"w1"});
  d.core.take(clock_tick{}, 1s);
  d.core.take(clock_tick{}, 26s);
  d.core.take(worker_finished{d.workers[0], generation{1}, step_number{1}, true,
                              "sha"});
  d.core.ask(stop_run{false});
  EXPECT_EQ(d.core.run().requests.parks(), false);
}

} // namespace
} // namespace ballast::coordinator
