// Goal: of order global the coordinator lets workers begin whatever they hold,
// shares out steps and not rows, and says who is left without a leaf. Method: a
// played run of 100 rows, ten chunks of 1 MB, batch 50.
#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class global_order_run : public ::testing::Test {
protected:
  global_order_run() {
    d_.chunk_bytes = 1'000'000;
    d_.dress = [](worker_hello& hello) {
      hello.host = "host of " + hello.name;
      hello.memory_bytes = 3'000'000; // of ten million bytes
    };
  }

  /// The request for the first plan.
  balance::place_shares begin(uint32_t workers, uint32_t leaves) {
    for (uint32_t i = 1; i <= workers; ++i)
      d_.join("w" + std::to_string(i));
    job what = small_job(workers);
    what.train.order = sample_order::global;
    what.train.leaves = leaves;
    d_.core.submit(what, "test-1", term{1});
    return pick<balance::place_shares>(
               d_.core.take(data_prepared{d_.set()}, d_.now))
        .at(0);
  }
  std::vector<uint64_t> weights() {
    std::vector<uint64_t> out;
    for (const ledger::share& one : d_.core.generation()->current.shares)
      out.push_back(one.batch_weight);
    return out;
  }
  std::vector<double> batches(const actions& list) {
    std::vector<double> out;
    for (const worker_share& one :
         told<events::plan_effective>(list).at(0).shares)
      out.push_back(one.batch);
    return out;
  }

  driver d_;
};

TEST_F(global_order_run, begins_though_no_worker_has_room_for_its_share) {
  const balance::place_shares first = begin(2, 8);
  EXPECT_THAT(first.limits, IsEmpty());
  EXPECT_FALSE(balance::place(d_.chunks(), 0.1, first).lacks);
  d_.place(first);
  EXPECT_EQ(d_.core.phase(), run_phase::training);
  EXPECT_THAT(told<events::window_chosen>(d_.assigned), IsEmpty());
  for (const send_assignment& one : pick<send_assignment>(d_.assigned))
    EXPECT_EQ(one.what.store_limit_bytes, 2'400'000u);
}

TEST_F(global_order_run, shares_steps_alike_whatever_workers_hold) {
  d_.place(begin(3, 8)); // who hold 4, 3 and 3 chunks
  EXPECT_THAT(weights(), ElementsAre(1, 1, 1));
  EXPECT_THAT(batches(d_.assigned), ElementsAre(18.75, 18.75, 12.5));
}

TEST_F(global_order_run, names_the_workers_without_a_leaf) {
  d_.place(begin(4, 2));
  const auto found = told<events::spares>(d_.assigned);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_THAT(found[0].workers, ElementsAre("w3", "w4"));
  EXPECT_EQ(found[0].leaves, 2u);
  EXPECT_THAT(batches(d_.assigned), ElementsAre(25, 25, 0, 0));
}

TEST_F(global_order_run, names_nobody_where_each_has_a_leaf) {
  d_.place(begin(2, 2));
  EXPECT_THAT(told<events::spares>(d_.assigned), IsEmpty());
}

TEST_F(global_order_run, goes_on_from_the_step_alone_when_one_dies) {
  d_.place(begin(3, 2));
  d_.apply_steps(1);
  d_.core.take(process_ended{"w1", killed_by(9)}, d_.now);
  d_.place(pick<balance::place_shares>(d_.recover(step_number{1})).at(0));
  EXPECT_EQ(d_.core.phase(), run_phase::training);
  EXPECT_THAT(told<events::spares>(d_.assigned), IsEmpty())
      << "the spare took over";
  EXPECT_THAT(batches(d_.assigned), ElementsAre(25, 25));
  const auto orders = pick<send_assignment>(d_.assigned);
  ASSERT_THAT(orders, SizeIs(2));
  for (const send_assignment& one : orders) {
    EXPECT_EQ(one.what.start.step, step_number{2});
    ASSERT_THAT(*one.what.cursors, SizeIs(2));
    for (const ledger::worker_cursor& cursor : *one.what.cursors)
      EXPECT_THAT(cursor.cursors, IsEmpty());
    EXPECT_EQ(start_error(d_.core.run().spec.rows(), *one.what.first,
                          one.what.start, *one.what.cursors),
              std::nullopt);
  }
}

TEST_F(global_order_run,
       leaves_the_leaves_of_the_step_in_flight_where_they_are) {
  d_.place(begin(4, 16));
  d_.apply_steps(1);
  d_.core.take(process_ended{"w2", killed_by(9)}, d_.now);
  d_.place(pick<balance::place_shares>(d_.recover(step_number{1})).at(0));
  const ledger::plan now = d_.core.generation()->current;
  EXPECT_EQ(now.kept.step, step_number{2});
  EXPECT_THAT(now.kept.by_rank,
              ElementsAre(ledger::leaf_ranges{{0, 4}, {4, 6}},
                          ledger::leaf_ranges{{8, 12}, {6, 7}},
                          ledger::leaf_ranges{{12, 16}, {7, 8}}));
}

TEST_F(global_order_run, counts_in_what_was_computed_in_an_attempt_to_recover) {
  d_.place(begin(4, 16));
  d_.apply_steps(1);
  d_.core.take(process_ended{"w2", killed_by(9)}, d_.now);
  d_.place(pick<balance::place_shares>(d_.recover(step_number{1})).at(0));
  d_.core.take(process_ended{"w3", killed_by(9)}, d_.now);
  d_.place(pick<balance::place_shares>(d_.recover(step_number{1})).at(0));
  EXPECT_THAT(d_.core.generation()->current.kept.by_rank,
              ElementsAre(ledger::leaf_ranges{{0, 4}, {4, 6}, {6, 7}, {8, 9}},
                          ledger::leaf_ranges{{12, 16}, {7, 8}, {9, 12}}));
}

} // namespace
} // namespace ballast::coordinator
