// Goal: a checkpoint that a worker finds damaged when it loads it is put aside,
// and the run goes on from the one before. Method: a driven core whose workers
// are all lost behind their checkpoints.
#include "coordinator_driver.hpp"

namespace ballast::coordinator {
namespace {

class damaged_checkpoint : public ::testing::Test {
protected:
  /// One worker, `steps` steps with a checkpoint after each; then another one
  /// is to load the newest.
  void goes_back_behind(uint64_t steps) {
    d.batch = 10;
    d.train({"w1"});
    for (uint64_t step = 1; step <= steps; ++step) {
      d.apply_steps(step);
      const generation_state& members = *d.core.generation();
      d.core.take(
          state_copied{members.workers[0], members.number, step_number{step}});
      d.core.take(checkpoint_written{*d.core.run().copies.on_its_way(),
                                     "state-" + std::to_string(step),
                                     {}},
                  d.now);
    }
    d.core.take(connection_lost{d.workers[0], closed}, d.now);
    loads(d.join("w2").then);
  }

  /// As far as the assignments.
  void loads(const actions& out) {
    auto placing = pick<balance::place_shares>(out);
    ASSERT_EQ(placing.size(), 1u);
    served = pick<serve_checkpoint>(out);
    placed_shares placed = balance::place(d.chunks(), 0.1, placing[0]);
    assigned = pick<send_assignment>(
        d.core.take(shares_placed{placed.what, placed.shares}, d.now));
    ASSERT_EQ(assigned.size(), 1u);
  }

  actions damaged(uint64_t step, errc code = errc::invalid_data) {
    const generation_state& members = *d.core.generation();
    worker_failed why;
    why.worker = members.workers[0];
    why.generation = members.number;
    why.code = code;
    why.message = "its state does not match its checksum";
    why.step = step_number{step};
    return d.core.take(why, d.now);
  }

  driver d;
  std::vector<serve_checkpoint> served;
  std::vector<send_assignment> assigned;
};

TEST_F(damaged_checkpoint, is_put_aside_for_the_one_before) {
  goes_back_behind(2);
  ASSERT_EQ(served.at(0).file, "state-2");
  const actions out = damaged(2);
  const auto refused = pick<refuse_checkpoint>(out);
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].file, "state-2");
  EXPECT_EQ(refused[0].reason, "its state does not match its checksum");
  const auto undone = pick<undo_steps>(out);
  ASSERT_EQ(undone.size(), 1u);
  EXPECT_EQ(undone[0].to, step_number{1});
  EXPECT_EQ(undone[0].reason, "worker w2 cannot load the checkpoint of step 2: "
                              "its state does not match its checksum");
  loads(out);
  EXPECT_EQ(served.at(0).file, "state-1");
  EXPECT_TRUE(assigned.at(0).what.from_checkpoint);
  EXPECT_EQ(assigned[0].what.start.step, step_number{2});
  d.join_ranks();
  EXPECT_EQ(d.core.phase(), run_phase::training);
}

TEST_F(damaged_checkpoint, was_the_last_one_so_the_seed_is_left) {
  goes_back_behind(1);
  loads(damaged(1));
  EXPECT_TRUE(served.empty());
  EXPECT_TRUE(assigned.at(0).what.from_seed);
  EXPECT_EQ(d.core.last().step, step_number{0});
}

TEST_F(damaged_checkpoint, is_not_to_blame_for_other_failures) {
  goes_back_behind(2);
  // It does not fit the model, or the worker has no room: no step is named.
  EXPECT_TRUE(pick<refuse_checkpoint>(damaged(0)).empty());
  EXPECT_EQ(d.core.run().copies.newest().checkpoint, "state-2");
}

TEST_F(damaged_checkpoint, of_an_earlier_attempt_is_not_that_of_this_one) {
  goes_back_behind(2);
  EXPECT_TRUE(pick<refuse_checkpoint>(damaged(1)).empty());
  EXPECT_EQ(d.core.run().copies.newest().checkpoint, "state-2");
}

} // namespace
} // namespace ballast::coordinator
