// Goal: a copy of a state that was undone while it was fetched is never gone
// back to. Method: the fetch is answered after all who held the state are lost
// and others have done the same steps again.
#include "tests/runtime/coordinator/coordinator_driver.hpp"

namespace ballast::coordinator {
namespace {

class late_checkpoint : public ::testing::Test {
protected:
  /// Two workers do two steps; rank 0 has copied its state behind the second.
  ledger::checkpoint_identity
  fetch_under(const std::vector<std::string>& names) {
    d.train(names);
    d.apply_steps(2);
    return copy_of_step_2().at(0).after;
  }

  std::vector<fetch_checkpoint> copy_of_step_2() {
    const generation_state& members = *d.core.generation();
    return pick<fetch_checkpoint>(d.core.take(
        state_copied{members.workers[0], members.number, step_number{2}}));
  }

  /// Everybody is lost; another one does the same two steps.
  void do_again() {
    for (worker_id who : std::vector(d.core.generation()->workers))
      d.core.take(connection_lost{who, closed}, d.now);
    ASSERT_EQ(d.core.last().step, step_number{0});
    auto placing = pick<balance::place_shares>(d.join("w3").then);
    ASSERT_EQ(placing.size(), 1u);
    d.place(placing[0]);
    d.apply_steps(2);
    ASSERT_EQ(d.core.last().step, step_number{2});
  }

  driver d;
};

TEST_F(late_checkpoint, is_not_gone_back_to) {
  ledger::checkpoint_identity undone = fetch_under({"w1", "w2"});
  do_again();
  // Step 2 has a copy again, which waits for its turn.
  EXPECT_TRUE(copy_of_step_2().empty());
  actions out = d.core.take(checkpoint_written{undone, "old", {}}, d.now);
  EXPECT_EQ(d.core.run().copies.points().size(), 1u) << "only the seed";
  auto fetch = pick<fetch_checkpoint>(out);
  ASSERT_EQ(fetch.size(), 1u);
  EXPECT_EQ(fetch[0].after.step, step_number{2});
  EXPECT_NE(fetch[0].after.lineage, undone.lineage);
  d.core.take(checkpoint_written{fetch[0].after, "new", {}}, d.now);
  ASSERT_EQ(d.core.run().copies.points().size(), 2u);
  EXPECT_EQ(d.core.run().copies.points()[1].checkpoint, "new");
}

TEST_F(late_checkpoint, of_another_run_is_not_taken_for_one_of_this) {
  ledger::checkpoint_identity mine = fetch_under({"w1", "w2"});
  ledger::checkpoint_identity other = mine;
  ++other.lineage;
  d.core.take(checkpoint_written{other, "other", {}}, d.now);
  EXPECT_EQ(d.core.run().copies.points().size(), 1u);
  EXPECT_TRUE(d.core.run().copies.on_its_way());
  d.core.take(checkpoint_written{mine, "mine", {}}, d.now);
  EXPECT_EQ(d.core.run().copies.points().size(), 2u);
}

} // namespace
} // namespace ballast::coordinator
