// Goal: rows go only to workers that can hold them; where nobody can, the run
// waits and says what is missing. Method: nodes that say how much memory their
// host has; ten chunks of 1 MB.
#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::SizeIs;

constexpr uint64_t mb = 1'000'000;

/// So much that a worker alone on its host may hold so many chunks.
uint64_t room_for(uint64_t chunks) {
  return (chunks * mb + mb / 2) / 4 * 5;
}

class coordinator_memory : public ::testing::Test {
protected:
  coordinator_memory() {
    d_.chunk_bytes = mb;
    d_.dress = [this](worker_hello& hello) {
      hello.host = "host of " + hello.name;
      hello.memory_bytes = room_for(room_[hello.name]);
    };
  }

  actions lose(const std::string& name) {
    for (const auto& [id, who] : d_.core.nodes().all())
      if (who.about.name == name)
        return d_.core.take(connection_lost{id, closed}, d_.now);
    return {};
  }

  std::vector<uint64_t> chunks_held() {
    std::vector<uint64_t> out;
    for (uint64_t bytes :
         balance::held_bytes(d_.chunks(), d_.core.generation()->current))
      out.push_back(bytes / mb);
    return out;
  }

  /// Performs the place_shares among these, if there is one.
  actions place(const actions& list) {
    auto found = pick<balance::place_shares>(list);
    return found.empty() ? actions{} : d_.place(found.at(0));
  }

  std::map<std::string, uint64_t> room_;
  driver d_;
};

TEST_F(coordinator_memory, tells_each_worker_its_limit) {
  room_ = {{"w1", 8}, {"w2", 9}};
  d_.train({"w1", "w2"});
  auto orders = pick<send_assignment>(d_.assigned);
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(orders[0].what.store_limit_bytes, 8 * mb + mb / 2);
  EXPECT_EQ(orders[1].what.store_limit_bytes, 9 * mb + mb / 2);
}

TEST_F(coordinator_memory, shares_a_host_among_its_workers) {
  d_.dress = [](worker_hello& hello) { hello.memory_bytes = 10 * mb; };
  d_.train({"w1", "w2"});
  for (const send_assignment& one : pick<send_assignment>(d_.assigned))
    EXPECT_EQ(one.what.store_limit_bytes, 4 * mb);
}

TEST_F(coordinator_memory, gives_the_rows_of_the_dead_to_those_with_room) {
  room_ = {{"w1", 4}, {"w2", 4}, {"w3", 7}};
  d_.train({"w1", "w2", "w3"});
  EXPECT_EQ(chunks_held(), (std::vector<uint64_t>{4, 3, 3}));
  lose("w2");
  place(d_.recover(step_number{0}));
  EXPECT_THAT(chunks_held(), ElementsAre(4, AllOf(Ge(6u), Le(7u))));
  EXPECT_EQ(d_.core.phase(), run_phase::training);
}

TEST_F(coordinator_memory,
       waits_for_a_worker_where_the_survivors_have_no_room) {
  room_ = {{"w1", 4}, {"w2", 4}, {"w3", 4}, {"w4", 2}};
  d_.train({"w1", "w2", "w3"});
  lose("w2");
  actions refused = place(d_.recover(step_number{0}));
  auto waiting = told<events::waiting_for_memory>(refused);
  ASSERT_THAT(waiting, SizeIs(1));
  EXPECT_EQ(waiting[0].lacks.lacking_bytes, 2 * mb);
  EXPECT_EQ(waiting[0].reason,
            "2 workers can hold 1.0 MB more, 2.0 MB of the training data have "
            "no place; waits for another worker");
  EXPECT_EQ(d_.core.phase(), run_phase::recovering);
  // Nothing is tried again before another node is here.
  EXPECT_THAT(pick<balance::place_shares>(d_.core.take(clock_tick{}, d_.now)),
              IsEmpty());
  d_.join("w4");
  ASSERT_TRUE(d_.core.fence());
  place(d_.recover(step_number{0}));
  EXPECT_EQ(d_.core.phase(), run_phase::training);
  EXPECT_EQ(chunks_held(), (std::vector<uint64_t>{4, 4, 2}));
  EXPECT_FALSE(d_.core.members().shortage());
}

TEST_F(coordinator_memory, counts_on_one_that_came_while_others_were_fenced) {
  room_ = {{"w1", 5}, {"w2", 5}, {"w3", 5}};
  d_.train({"w1", "w2"});
  lose("w2");
  d_.join("w3");
  EXPECT_THAT(
      told<events::waiting_for_memory>(place(d_.recover(step_number{0}))),
      SizeIs(1));
  d_.core.take(clock_tick{}, d_.now);
  ASSERT_TRUE(d_.core.fence());
  place(d_.recover(step_number{0}));
  EXPECT_EQ(chunks_held(), (std::vector<uint64_t>{5, 5}));
  EXPECT_EQ(d_.core.phase(), run_phase::training);
}

TEST_F(coordinator_memory, begins_with_a_window_where_the_set_does_not_fit) {
  room_ = {{"w1", 4}, {"w2", 5}};
  d_.join("w1");
  d_.join("w2");
  d_.core.submit(small_job(2), "test-1", term{1});
  auto first = pick<balance::place_shares>(
      d_.core.take(data_prepared{d_.set()}, d_.now));
  ASSERT_THAT(first, SizeIs(1));
  const memory_need lacks = balance::place(d_.chunks(), 0.1, first[0]).lacks;
  ASSERT_TRUE(lacks);
  actions then =
      d_.core.take(no_room_found{first[0].generation, lacks}, d_.now);
  const auto chosen = told<events::window_chosen>(then);
  ASSERT_THAT(chosen, SizeIs(1));
  EXPECT_EQ(chosen[0].window_chunks, 2u) << "of 4.5 MB the half";
  const auto journaled = pick<journal_job>(then);
  ASSERT_THAT(journaled, SizeIs(1));
  EXPECT_EQ(journaled[0].what.train.shuffle.window_chunks, 2u);
  // Each may own more than it holds, and knows how much that is.
  auto second = pick<balance::place_shares>(then);
  ASSERT_THAT(second, SizeIs(1));
  EXPECT_THAT(second[0].limits, IsEmpty());
  const placed_shares placed = balance::place(d_.chunks(), 0.1, second[0]);
  EXPECT_FALSE(placed.lacks);
  then = d_.core.take(shares_placed{placed.what, placed.shares}, d_.now);
  const auto orders = pick<send_assignment>(then);
  ASSERT_THAT(orders, SizeIs(2));
  EXPECT_EQ(orders[0].what.store_limit_bytes, 4 * mb + mb / 2);
  EXPECT_THAT(orders[0].what.job, ::testing::HasSubstr("\"window_chunks\":2"));
}

TEST_F(coordinator_memory, stops_on_request_while_it_waits_for_room) {
  room_ = {{"w1", 5}, {"w2", 5}};
  d_.train({"w1", "w2"});
  lose("w2");
  place(d_.recover(step_number{0}));
  EXPECT_EQ(d_.core.phase(), run_phase::recovering);
  d_.core.ask(stop_run{false});
  d_.core.take(clock_tick{}, d_.now);
  EXPECT_EQ(d_.core.phase(), run_phase::stopped);
}

TEST_F(coordinator_memory, keeps_a_member_that_cannot_hand_over_its_rows) {
  room_ = {{"w1", 5}, {"w2", 5}, {"w3", 5}};
  d_.batch = 10; // so that the run is not at its end
  d_.train({"w1", "w2"});
  actions asked = d_.core.ask(drain_request{"w2"}).then;
  auto places = pick<balance::place_shares>(asked);
  ASSERT_THAT(places, SizeIs(1));
  placed_shares answer = balance::place(d_.chunks(), 0.1, places[0]);
  ASSERT_TRUE(answer.lacks);
  actions kept =
      d_.core.take(no_room_found{places[0].generation, answer.lacks});
  EXPECT_THAT(told<events::waiting_for_memory>(kept), SizeIs(1));
  EXPECT_EQ(d_.core.phase(), run_phase::training);
  for (int i = 0; i < 3; ++i) // told once, tried once
    EXPECT_THAT(pick<balance::place_shares>(d_.core.take(clock_tick{}, d_.now)),
                IsEmpty());
  // Its replacement comes, and takes over.
  d_.join("w3");
  EXPECT_THAT(pick<balance::place_shares>(d_.core.take(clock_tick{}, d_.now)),
              SizeIs(1));
}

TEST_F(coordinator_memory, excludes_a_worker_to_which_nothing_comes) {
  room_ = {{"w1", 10}, {"w2", 10}};
  d_.train({"w1", "w2"});
  heartbeat beat;
  beat.worker = d_.workers[1];
  beat.generation = d_.core.generation()->number;
  beat.share_bytes = 5 * mb;
  beat.arrived_bytes = mb;
  actions out;
  for (int s = 0; s <= 60; ++s, d_.now += std::chrono::seconds(1)) {
    beat.worker = d_.workers[0];
    beat.arrived_bytes = uint64_t(s) * 1000;
    d_.core.take(beat, d_.now);
    beat.worker = d_.workers[1];
    beat.arrived_bytes = mb;
    d_.core.take(beat, d_.now);
    out = d_.core.take(clock_tick{}, d_.now);
    if (s < 60) {
      ASSERT_THAT(pick<expel>(out), IsEmpty()) << s;
    }
  }
  auto expelled = pick<expel>(out);
  ASSERT_THAT(expelled, SizeIs(1));
  EXPECT_EQ(expelled[0].who, d_.workers[1]);
}

} // namespace
} // namespace ballast::coordinator
