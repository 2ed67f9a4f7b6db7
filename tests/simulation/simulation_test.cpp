// Goal: whatever dies, freezes or comes late, in whatever order, every row is
// in exactly one step of its epoch and the run ends. Method: many seeded
// clusters in virtual time; a failure prints its seed, and BALLAST_SIM_SEED
// replays it.
#include "tests/simulation/cluster.hpp"

#include <cstdlib>
#include <gtest/gtest.h>

namespace ballast::simulation {
namespace {

using namespace std::chrono_literals;

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

cluster_options schedule(uint64_t seed) {
  ballast::testing::test_random random(seed ^ 0x73696d);
  cluster_options out;
  out.seed = seed;
  out.workers = uint32_t(random.between(2, 5));
  out.rows = random.between(40, 300);
  out.chunk_rows = uint32_t(random.between(3, 20));
  out.global_batch = random.between(5, 40);
  out.epochs = random.between(1, 6);
  out.faults_until = std::chrono::milliseconds(random.between(0, 6000));
  out.mean_between_faults = std::chrono::milliseconds(random.between(20, 800));
  return out;
}

TEST(simulation, every_row_is_used_once_whatever_dies) {
  uint64_t one = number_from("BALLAST_SIM_SEED", 0);
  uint64_t count = one ? 1 : number_from("BALLAST_SIM_COUNT", 1000);
  uint64_t done = 0, kills = 0, freezes = 0, generations = 0, excluded = 0;
  uint64_t drains = 0, joins = 0, crashes = 0, undone = 0, moves = 0;
  for (uint64_t seed = one ? one : 1; count > 0; --count, ++seed) {
    cluster_options options = schedule(seed);
    options.tell = one != 0;
    cluster world(options);
    try {
      outcome how = world.run();
      EXPECT_EQ(how.state, "done")
          << "seed " << seed << ": " << how.reason << "\n"
          << world.history();
      if (how.state != "done")
        return;
      ++done;
      kills += how.kills;
      freezes += how.freezes;
      generations += how.generations;
      excluded += how.excluded;
      drains += how.drains;
      joins += how.joins;
      crashes += how.crashes;
      undone += how.undone;
      moves += how.moves;
    } catch (const violation& wrong) {
      FAIL() << wrong.what();
    }
  }
  printf("%llu runs, %llu kills, %llu freezes, %llu exclusions, %llu drains, "
         "%llu generations, %llu of them offered, %llu crashes of the "
         "coordinator, %llu steps undone, %llu switches to other owners\n",
         (unsigned long long)done, (unsigned long long)kills,
         (unsigned long long)freezes, (unsigned long long)excluded,
         (unsigned long long)drains, (unsigned long long)generations,
         (unsigned long long)joins, (unsigned long long)crashes,
         (unsigned long long)undone, (unsigned long long)moves);
}

// A device that is ill is told of, and no other, whatever dies meanwhile.
TEST(simulation, every_ill_device_is_named_and_no_other) {
  uint64_t one = number_from("BALLAST_SIM_SEED", 0);
  uint64_t count = one ? 1 : number_from("BALLAST_SIM_COUNT", 1000) / 5;
  uint64_t ailing = 0;
  for (uint64_t seed = one ? one : 1; count > 0; --count, ++seed) {
    cluster_options options = schedule(seed);
    options.ill_devices = true;
    options.tell = one != 0;
    options.epochs += 6;
    cluster world(options);
    try {
      outcome how = world.run();
      ASSERT_EQ(how.state, "done") << "seed " << seed << ": " << how.reason;
      ailing += how.ailing;
    } catch (const violation& wrong) {
      FAIL() << wrong.what();
    }
  }
  printf("%llu ill devices\n", (unsigned long long)ailing);
  if (!one) {
    EXPECT_GT(ailing, 0u);
  }
}

// Real decisions in the place of random ones, on a set with a rare class.
TEST(simulation, a_class_of_one_worker_alone_gets_a_second_holder) {
  uint64_t one = number_from("BALLAST_SIM_SEED", 0);
  uint64_t count = one ? 1 : number_from("BALLAST_SIM_COUNT", 1000) / 5;
  uint64_t plans = 0, checked = 0;
  for (uint64_t seed = one ? one : 1; count > 0; --count, ++seed) {
    cluster_options options = schedule(seed);
    options.balanced = true;
    options.tell = one != 0;
    options.epochs += 6;
    if (seed % 2 == 1) // and every second time nothing else happens
      options.faults_until = {};
    cluster world(options);
    try {
      outcome how = world.run();
      ASSERT_EQ(how.state, "done") << "seed " << seed << ": " << how.reason;
      plans += how.lone_plans;
      // Time for a look, a copy and the switch, after a plan for something
      // else, and again where a copy fails.
      if (how.same_since < 2000ms || how.stalled)
        continue;
      ++checked;
      EXPECT_EQ(how.lone_classes, 0u) << "seed " << seed << "\n"
                                      << world.history();
    } catch (const violation& wrong) {
      FAIL() << wrong.what();
    }
  }
  printf("%llu plans for coverage; %llu runs looked at\n",
         (unsigned long long)plans, (unsigned long long)checked);
  if (!one) {
    EXPECT_GT(plans, 0u);
    EXPECT_GT(checked, 0u);
  }
}

} // namespace
} // namespace ballast::simulation
