// Goal: a job that says "auto" gets NCCL for every generation in which that is
// possible, and the ring for the others; what failed once without anybody's
// death is not tried again. Method: a driver that plays shard manager and
// workers.
#include "coordinator_driver.hpp"
#include "runtime/coordinator/status.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using ::testing::HasSubstr;

class collectives : public ::testing::Test {
protected:
  collectives() {
    d.more = [](job& what) { what.model.kind = model_kind::mlp; };
    d.dress = [](worker_hello& hello) {
      if (hello.name[0] != 'g')
        return;
      hello.device = "cuda:0";
      hello.gpu = "bus of " + hello.name;
      hello.nccl = "2.28.9";
    };
  }

  /// The one that all these assignments name.
  static std::string assigned(const actions& of) {
    std::string out;
    for (const send_assignment& one : pick<send_assignment>(of)) {
      EXPECT_TRUE(out.empty() || out == one.what.collective);
      out = one.what.collective;
    }
    return out;
  }
  static collective_choice event(const actions& of) {
    auto begun = told<events::generation_begun>(of);
    return begun.empty() ? collective_choice{} : begun[0].collective;
  }
  actions fail_opening(size_t rank) {
    const auto gen = d.core.generation()->number;
    return d.core.take(worker_failed{d.core.generation()->workers[rank],
                                     gen,
                                     errc::collective_failed,
                                     "unhandled system error",
                                     {},
                                     {}},
                       d.now);
  }
  /// Everybody but the lost answers; the next generation is placed.
  actions go_on(std::vector<worker_id> silent = {}) {
    actions decided;
    for (worker_id who : std::set(d.core.fence()->awaited()))
      if (std::count(silent.begin(), silent.end(), who) == 0)
        decided = d.core.take(
            final_ack{
                who, d.core.fence()->level(), true, step_number{0}, {}, {}},
            d.now);
    for (worker_id who : silent)
      decided = d.core.take(connection_lost{who, closed}, d.now);
    const auto place = pick<balance::place_shares>(decided);
    EXPECT_EQ(place.size(), 1u);
    d.place(place.at(0));
    return d.assigned;
  }

  driver d;
};

TEST_F(collectives, of_gpus_is_nccl_and_the_event_says_why) {
  d.train({"g1", "g2"});
  EXPECT_EQ(assigned(d.assigned), "nccl");
  EXPECT_EQ(event(d.assigned).name, "nccl");
  EXPECT_THAT(event(d.assigned).reason, HasSubstr("a GPU of its own"));
  EXPECT_EQ(
      status_of(d.core, d.now).run.value().members.value().collective.name,
      "nccl");
}

TEST_F(collectives, of_a_mixed_cluster_is_the_ring) {
  d.train({"g1", "c2", "g3"});
  EXPECT_EQ(assigned(d.assigned), "ring");
  EXPECT_EQ(event(d.assigned).reason, "c2 computes on cpu");
}

TEST_F(collectives, of_a_model_that_computes_on_the_cpu_is_the_ring) {
  d.more = nullptr;
  d.train({"g1", "g2"});
  EXPECT_EQ(assigned(d.assigned), "ring");
}

TEST_F(collectives, is_chosen_anew_when_a_worker_is_lost) {
  d.train({"g1", "g2", "c3"});
  EXPECT_EQ(assigned(d.assigned), "ring");
  // Ranks are by name.
  ASSERT_EQ(d.core.name_of(d.workers[0]), "c3");
  d.core.take(connection_lost{d.workers[0], closed}, d.now);
  EXPECT_EQ(assigned(go_on()), "nccl");
}

TEST_F(collectives, is_chosen_anew_when_a_worker_joins) {
  d.batch = 10;
  d.train({"g1", "g2"});
  d.join("c3");
  actions ticked = d.core.take(clock_tick{}, d.now);
  const auto place = pick<balance::place_shares>(ticked);
  ASSERT_EQ(place.size(), 1u);
  ledger::plan placed =
      balance::repaired_plan(d.chunks(), 0.1, place[0].before, place[0].workers,
                             place[0].generation, place[0].number);
  std::vector<share_summary> counts;
  for (const ledger::share& one : placed.shares)
    counts.push_back({one.worker, 0, 0});
  const actions offered = d.core.take(shares_placed{placed, counts}, d.now);
  EXPECT_EQ(pick<send_assignment>(offered).size(), 3u);
  EXPECT_EQ(assigned(offered), "ring");
  EXPECT_EQ(d.core.generation()->collective.name, "nccl") << "until the switch";
}

TEST_F(collectives, is_the_ring_after_nccl_failed_while_all_are_alive) {
  d.train({"g1", "g2"});
  fail_opening(1);
  const actions next = go_on();
  EXPECT_EQ(assigned(next), "ring");
  EXPECT_EQ(d.core.generation()->collective.reason,
            "NCCL failed before: g2: unhandled system error");
}

TEST_F(collectives, is_nccl_again_where_a_death_broke_it) {
  d.train({"g1", "g2", "g3"});
  fail_opening(0); // the echo of what comes now
  EXPECT_EQ(assigned(go_on({d.workers[2]})), "nccl");
}

TEST_F(collectives, is_nccl_again_where_it_had_done_steps) {
  d.batch = 10;
  d.train({"g1", "g2"});
  d.apply_steps(1);
  fail_opening(0);
  actions decided;
  for (worker_id who : std::set(d.core.fence()->awaited()))
    decided = d.core.take(
        final_ack{who, d.core.fence()->level(), true, step_number{1}, {}, {}},
        d.now);
  d.place(pick<balance::place_shares>(decided).at(0));
  EXPECT_EQ(assigned(d.assigned), "nccl");
}

} // namespace
} // namespace ballast::coordinator
