// Goal: of a plan that takes effect exactly one event tells, with all that it
// did, also where the coordinator that offered it is dead by then, or a fence
// comes first. Method: two lives of a coordinator; the second one gets what the
// first one journaled, and hears from the workers what they did meanwhile.
#include "coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

class pending_plan : public ::testing::Test {
protected:
  pending_plan() {
    first_.join("w1");
    first_.join("w2");
    what_ = small_job(2);
    what_.train.global_batch = 10;
    what_.train.epochs = 100;
    first_.core.submit(what_, "test-1", term{1});
    auto place = pick<balance::place_shares>(
        first_.core.take(data_prepared{first_.set()}, first_.now));
    first_.workers = place.at(0).workers;
    first_.place(place[0]);
    past_.begun = past_.what = what_;
    past_.name = "test-1";
    past_.rows = 100;
    keep(first_.assigned);
  }

  /// For the next life.
  void keep(const actions& list) {
    for (const journal_change& one : pick<journal_change>(list)) {
      past_.memberships.push_back(
          {one.generation, one.workers, one.names, one.incarnations});
      past_.plans.push_back({one.what, one.effective, one.note});
    }
    for (const journal_offer& one : pick<journal_offer>(list))
      past_.plans.push_back({one.what, std::nullopt, one.note});
  }

  /// Chunk 0 of w1 goes to w2: plan 2, up to its offer.
  actions move() {
    first_.now += std::chrono::milliseconds(50);
    EXPECT_THAT(pick<observe_load>(first_.core.take(clock_tick{}, first_.now)),
                SizeIs(1));
    balance::balance_answer answer;
    answer.state.code = balance::balance_code::planned;
    answer.state.makespan_ratio = 1.5;
    balance::balance_proposal& what = answer.proposal;
    what.generation = generation{1};
    what.base = plan_number{1};
    what.moves = {{{chunk_id{0}, 0, 10}, 0, 1, 100, 1}};
    what.moved_rows = 10;
    what.bound_rows = 7;
    what.cause = balance::balance_cause::size;
    what.reason = "one owns more";
    what.weights = {40, 60};
    what.after = {{first_.workers[0], 40, 0.25}, {first_.workers[1], 60, 0}};
    auto orders = pick<send_fetch>(first_.core.take(answer, first_.now));
    EXPECT_THAT(orders, SizeIs(1));
    chunks_fetched done;
    done.worker = first_.workers[1];
    done.generation = generation{1};
    done.number = plan_number{2};
    done.bytes = 100;
    return first_.core.take(done, first_.now);
  }

  /// w3 comes: plan 2 of generation 2, up to its offer.
  actions join() {
    actions then = first_.join("w3").then;
    actions more = first_.core.take(clock_tick{}, first_.now);
    auto place = pick<balance::place_shares>(more);
    EXPECT_THAT(place, SizeIs(1));
    ledger::plan placed = balance::repaired_plan(
        first_.chunks(), 0.1, place.at(0).before, place[0].workers,
        place[0].generation, place[0].number);
    std::vector<share_summary> counts;
    for (const ledger::share& one : placed.shares)
      counts.push_back({one.worker, rows(one), 0});
    return first_.core.take(shares_placed{placed, counts}, first_.now);
  }

  /// The second life, all back; what it says until it has placed anew.
  actions take_over(std::vector<ledger::step_record> records) {
    second_.core.resume(past_, term{2});
    second_.core.take(data_prepared{second_.set()}, second_.now);
    for (const past_membership& one : past_.memberships)
      for (size_t rank = 0; rank < one.workers.size(); ++rank) {
        worker_hello hello{one.names[rank], 100, "host", "cpu", "b1", "m"};
        hello.was = one.workers[rank];
        hello.run = "test-1";
        second_.core.hello(hello, second_.now);
      }
    return answers(second_, std::move(records));
  }

  /// All that the answers to the fence make it say.
  static actions answers(driver& of, std::vector<ledger::step_record> records) {
    actions out;
    generation level = of.core.fence()->level();
    step_number last = records.empty() ? step_number{} : records.back().step;
    for (worker_id who : std::set(of.core.fence()->awaited())) {
      actions then =
          of.core.take(final_ack{who, level, true, last, records, {}}, of.now);
      out.insert(out.end(), then.begin(), then.end());
    }
    return out;
  }

  static std::vector<ledger::step_record> steps(uint64_t under_1,
                                                uint64_t under_2) {
    std::vector<ledger::step_record> out;
    for (uint64_t step = 1; step <= under_1 + under_2; ++step)
      out.push_back({step_number{step}, epoch_number{1},
                     plan_number{step > under_1 ? 2u : 1u}, 10, 1, step});
    return out;
  }

  job what_;
  driver first_;
  driver second_;
  past_run past_;
};

TEST_F(pending_plan, of_a_dead_coordinator_is_told_of_by_the_next_one) {
  keep(move());
  actions then = take_over(steps(3, 2));
  auto done = told<events::balanced>(then);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_EQ(done[0].what.plan, plan_number{2});
  EXPECT_EQ(done[0].what.generation, generation{1});
  EXPECT_EQ(done[0].what.step, step_number{4});
  EXPECT_EQ(done[0].balance.cause, balance::balance_cause::size);
  EXPECT_EQ(done[0].what.reason, "one owns more");
  EXPECT_EQ(done[0].balance.makespan_ratio, 1.5);
  EXPECT_EQ(done[0].balance.moved_rows, 10u);
  EXPECT_EQ(done[0].balance.moved_bytes, 100u);
  EXPECT_EQ(done[0].balance.bound_rows, 7u);
  ASSERT_THAT(done[0].what.shares, SizeIs(2));
  EXPECT_EQ(done[0].what.shares[0].skew_tv, 0.25);
  EXPECT_EQ(done[0].what.shares[1].worker, "w2");
  EXPECT_EQ(done[0].what.shares[1].rows, 60u);
  EXPECT_THAT(pick<journal_effective>(then), SizeIs(1));
  const balance_account& account = second_.core.run().balance.account();
  EXPECT_EQ(account.plans, 1u);
  EXPECT_EQ(account.moved_rows, 10u);
  EXPECT_EQ(account.moved_bytes, 100u);
}

TEST_F(pending_plan, that_never_took_effect_is_told_of_as_dropped) {
  keep(move());
  actions then = take_over(steps(3, 0));
  EXPECT_THAT(told<events::balanced>(then), SizeIs(0));
  EXPECT_THAT(pick<journal_effective>(then), SizeIs(0));
  auto dropped = told<events::plan_dropped>(then);
  ASSERT_GE(dropped.size(), 1u);
  EXPECT_EQ(dropped[0].plan, plan_number{2});
  EXPECT_THAT(told<events::plan_effective>(then), SizeIs(0));
  EXPECT_EQ(second_.core.run().balance.account().plans, 0u);
}

// The first one may die between the event and the line in the journal.
TEST_F(pending_plan, is_told_of_once) {
  keep(move());
  past_.plans.back().told = true;
  actions then = take_over(steps(3, 2));
  EXPECT_THAT(told<events::balanced>(then), SizeIs(0));
  EXPECT_THAT(pick<journal_effective>(then), SizeIs(1));
}

TEST_F(pending_plan, is_told_of_before_it_is_journaled_as_in_force) {
  keep(move());
  actions then = take_over(steps(3, 2));
  size_t told = 0;
  size_t journaled = 0;
  for (size_t i = 0; i < then.size(); ++i) {
    if (const auto* line = std::get_if<write_event>(&then[i]))
      told = std::holds_alternative<events::balanced>(line->what) ? i : told;
    if (std::holds_alternative<journal_effective>(then[i]))
      journaled = i;
  }
  EXPECT_LT(told, journaled);
}

TEST_F(pending_plan, of_another_membership_is_told_of_with_its_generation) {
  keep(join());
  // The newcomer got its state at the switch and did step 4 with the others.
  actions then = take_over(steps(3, 1));
  auto made = told<events::generation_begun>(then);
  ASSERT_GE(made.size(), 1u);
  EXPECT_EQ(made[0].number, generation{2});
  EXPECT_EQ(made[0].step, step_number{4});
  const auto* how =
      std::get_if<events::generation_begun::switched>(&made[0].why);
  ASSERT_TRUE(how);
  EXPECT_FALSE(how->leave);
  EXPECT_THAT(made[0].workers, ElementsAre("w1", "w2", "w3"));
  auto effective = told<events::plan_effective>(then);
  ASSERT_GE(effective.size(), 1u);
  EXPECT_EQ(effective[0].plan, plan_number{2});
  EXPECT_EQ(effective[0].reason, "membership");
}

// Some are behind the switch when a fence comes: nobody told of it.
TEST_F(pending_plan, at_a_fence_is_told_of_in_the_same_life) {
  join();
  actions then =
      first_.core.take(connection_lost{first_.workers[0], closed}, {});
  actions more = answers(first_, steps(3, 1));
  then.insert(then.end(), more.begin(), more.end());
  size_t effective = 0;
  for (const auto& one : told<events::plan_effective>(then))
    effective += one.plan == plan_number{2} ? 1 : 0;
  EXPECT_EQ(effective, 1u);
  auto made = told<events::generation_begun>(then);
  ASSERT_GE(made.size(), 1u);
  EXPECT_EQ(made[0].number, generation{2});
}

} // namespace
} // namespace ballast::coordinator
