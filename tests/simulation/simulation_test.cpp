// Goal: whatever dies, freezes or comes late, in whatever order, every row is
// in exactly one step of its epoch and the run ends. Method: many seeded
// clusters in virtual time; a failure prints its seed, and BALLAST_SIM_SEED
// replays it. BALLAST_SIM_ALL=1 goes on behind a failure.
#include "tests/simulation/cluster.hpp"

#include <cstdlib>
#include <ctime>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>

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
  if (seed % 4 == 1) // the random numbers are those of all other schedules
    out.window_chunks = uint32_t(1 + seed / 4 % 6);
  if (seed % 4 == 3) // likewise; also more workers than leaves
    out.leaves = 1u << seed / 4 % 4;
  if (seed % 8 == 7)
    out.window_chunks = uint32_t(1 + seed / 8 % 6);
  out.weighted = seed % 5 == 2;  // likewise
  out.in_memory = seed % 3 == 0; // likewise
  out.compresses = seed % 7 == 5 && out.leaves == 0;
  out.workers = uint32_t(random.between(2, 5));
  out.rows = random.between(40, 300);
  out.chunk_rows = uint32_t(random.between(3, 20));
  out.global_batch = random.between(5, 40);
  out.epochs = random.between(1, 6);
  out.faults_until = std::chrono::milliseconds(random.between(0, 6000));
  out.mean_between_faults = std::chrono::milliseconds(random.between(20, 800));
  return out;
}

/// What many runs came to.
struct totals {
  outcome sum;
  uint64_t runs = 0;
  uint64_t stopped = 0;
  std::map<std::string, uint64_t> failed; // reason -> how often

  void add(const outcome& how) {
    ++runs;
    stopped += how.state == "stopped" ? 1 : 0;
    if (how.state == "failed")
      ++failed[how.reason.substr(0, 60)];
    for (uint64_t outcome::*one :
         {&outcome::generations, &outcome::kills,      &outcome::freezes,
          &outcome::excluded,    &outcome::drains,     &outcome::joins,
          &outcome::crashes,     &outcome::moves,      &outcome::undone,
          &outcome::ailing,      &outcome::lone_plans, &outcome::accepted,
          &outcome::refused,     &outcome::pauses,     &outcome::stalls,
          &outcome::cuts,        &outcome::power_cuts, &outcome::resumes,
          &outcome::no_room,     &outcome::row_waits,  &outcome::ahead})
      sum.*one += how.*one;
    sum.took += how.took;
  }
  void print(double cpu_s) const {
    auto number = [](uint64_t n, const char* what) {
      if (n > 0)
        printf(", %llu %s", (unsigned long long)n, what);
    };
    printf("%llu runs", (unsigned long long)runs);
    number(stopped, "stopped");
    number(sum.kills, "kills");
    number(sum.freezes, "freezes");
    number(sum.excluded, "exclusions");
    number(sum.drains, "drains");
    number(sum.generations, "generations");
    number(sum.joins, "of them offered");
    number(sum.crashes, "crashes of the coordinator");
    number(sum.stalls, "stalls of it");
    number(sum.cuts, "links cut");
    number(sum.power_cuts, "power cuts");
    number(sum.resumes, "runs gone on with");
    number(sum.accepted, "requests accepted");
    number(sum.refused, "refused");
    number(sum.no_room, "waits for room");
    number(sum.row_waits, "waits for rows");
    number(sum.ahead, "owners ahead of their bytes");
    number(sum.pauses, "pauses");
    number(sum.undone, "steps undone");
    number(sum.moves, "switches to other owners");
    number(sum.ailing, "ill devices");
    double virtual_s = std::chrono::duration<double>(sum.took).count();
    printf("; %.0f s of virtual time in %.1f s of CPU: %.0f times as fast\n",
           virtual_s, cpu_s, virtual_s / std::max(cpu_s, 1e-9));
    for (const auto& [reason, count] : failed)
      printf("  %llu failed: %s\n", (unsigned long long)count, reason.c_str());
  }
};

/// A part of `BALLAST_SIM_COUNT` clusters, or the one that is replayed.
/// `may_end`: how a run may end beside "done".
template <class Change>
totals run_all(uint64_t part, const std::set<std::string>& may_end,
               Change change,
               const std::function<std::string(const outcome&)>& look = {}) {
  uint64_t one = number_from("BALLAST_SIM_SEED", 0);
  uint64_t first = one ? one : number_from("BALLAST_SIM_FIRST", 1);
  uint64_t count = number_from("BALLAST_SIM_COUNT", 1000) / part;
  totals out;
  std::clock_t began = std::clock();
  for (uint64_t seed = first; seed < first + (one ? 1 : count); ++seed) {
    cluster_options options = schedule(seed);
    options.tell = one != 0;
    change(options);
    auto wrong = [&](const std::string& why) {
      // Again, and now with its history.
      options.record = true;
      cluster again(options);
      try {
        again.run();
      } catch (const std::exception&) {
      }
      ADD_FAILURE() << why << "\n" << again.history();
    };
    try {
      outcome how = cluster(options).run();
      if (how.state != "done" && !may_end.contains(how.state))
        wrong("seed " + std::to_string(seed) + ": " + how.state + " " +
              how.reason);
      if (look)
        if (std::string why = look(how); !why.empty())
          wrong("seed " + std::to_string(seed) + ": " + why);
      out.add(how);
    } catch (const violation& broken) {
      wrong(broken.what());
    } catch (const std::exception& broken) {
      wrong("seed " + std::to_string(seed) + ": " + broken.what());
    }
    if (::testing::Test::HasFailure() && !number_from("BALLAST_SIM_ALL", 0))
      break;
  }
  out.print(double(std::clock() - began) / CLOCKS_PER_SEC);
  return out;
}

TEST(simulation, every_row_is_used_once_whatever_dies) {
  run_all(1, {}, [](cluster_options&) {});
}

TEST(simulation, a_run_stops_in_time_and_keeps_the_best_whatever_dies) {
  run_all(2, {}, [](cluster_options& options) {
    options.judged = true;
    options.epochs += 10;
    if (options.seed % 2 == 0) // else after each epoch
      options.evaluate_every = 1 + options.seed % 13;
    options.power_cuts = options.seed % 3 == 0;
  });
}

// Long enough for what was asked for to come true.
cluster_options& longer(cluster_options& options) {
  options.epochs += 12;
  return options;
}

TEST(simulation, what_was_asked_for_comes_true_at_any_moment) {
  run_all(4, {"stopped"}, [](cluster_options& options) {
    longer(options).requests = true;
    options.coordinator_stalls = options.seed % 2 == 0;
  });
}

TEST(simulation, a_supervised_run_goes_on_whatever_dies) {
  run_all(4, {"stopped"}, [](cluster_options& options) {
    longer(options).requests = options.seed % 2 == 0;
    options.supervised = true;
    options.early_deaths = true;
    options.coordinator_stalls = options.seed % 3 == 0;
  });
}

TEST(simulation, a_coordinator_that_stands_still_excludes_nobody_for_it) {
  run_all(4, {}, [](cluster_options& options) {
    options.coordinator_stalls = true;
    options.supervised = options.seed % 2 == 0;
  });
}

TEST(simulation, links_that_are_cut_cost_time_and_no_step) {
  run_all(4, {}, [](cluster_options& options) {
    options.partitions = true;
    options.apart = options.seed % 2 == 0;
    options.supervised = options.seed % 3 == 0;
    options.long_outages = options.seed % 5 == 0;
  });
}

TEST(simulation, a_newcomer_that_fails_costs_the_newcomer) {
  run_all(4, {}, [](cluster_options& options) {
    options.sick_joiners = true;
    options.strangers = true;
    options.supervised = options.seed % 2 == 0;
  });
}

TEST(simulation, a_power_cut_costs_what_no_checkpoint_has) {
  run_all(4, {}, [](cluster_options& options) {
    options.power_cuts = true;
    options.full_disk = options.seed % 3 == 0;
    options.supervised = options.seed % 2 == 0;
  });
}

TEST(simulation, runs_follow_each_other_under_one_coordinator) {
  run_all(8, {}, [](cluster_options& options) { options.runs = 3; });
}

// Where some have died the others cannot hold all of it: they wait.
TEST(simulation, nobody_gets_more_than_it_has_room_for) {
  totals all = run_all(8, {}, [](cluster_options& options) {
    options.cramped = true;
    options.window_chunks = 0; // with one, a share may be larger than that
    options.leaves = 0;        // and so may what a worker uses
  });
  if (all.runs > 50) {
    EXPECT_GT(all.sum.no_room, 0u);
  }
}

// Sets larger than memory, copies that get lost, an origin that is away, owners
// that are planned before the bytes of their rows are there.
TEST(simulation, where_rows_are_changes_no_step) {
  totals all = run_all(4, {}, [](cluster_options& options) {
    options.on_demand = true;
    options.supervised = options.seed % 2 == 0;
    options.coordinator_stalls = options.seed % 3 == 0;
    options.partitions = options.seed % 5 == 0;
  });
  if (all.runs > 50) {
    EXPECT_GT(all.sum.row_waits, 0u);
    EXPECT_GT(all.sum.ahead, 0u);
  }
}

// A device that is ill is told of, and no other, whatever dies meanwhile.
TEST(simulation, every_ill_device_is_named_and_no_other) {
  totals all = run_all(5, {}, [](cluster_options& options) {
    options.ill_devices = true;
    options.epochs += 6;
  });
  if (all.runs > 50) {
    EXPECT_GT(all.sum.ailing, 0u);
  }
}

// Real decisions in the place of random ones, on a set with a rare class.
TEST(simulation, a_class_of_one_worker_alone_gets_a_second_holder) {
  uint64_t checked = 0;
  totals all = run_all(
      5, {},
      [](cluster_options& options) {
        options.balanced = true;
        options.leaves = 0; // of order global no row moves for it
        options.epochs += 6;
        if (options.seed % 2 == 1) // and every second time nothing else happens
          options.faults_until = {};
      },
      [&](const outcome& how) -> std::string {
        // Time for a look, a copy and the switch, after a plan for something
        // else, and again where a copy fails.
        if (how.same_since < 2000ms || how.stalled)
          return {};
        ++checked;
        return how.lone_classes == 0 ? "" : "a class is left to one worker";
      });
  printf("%llu plans for coverage; %llu runs looked at\n",
         (unsigned long long)all.sum.lone_plans, (unsigned long long)checked);
  if (all.runs > 50) {
    EXPECT_GT(all.sum.lone_plans, 0u);
    EXPECT_GT(checked, 0u);
  }
}

} // namespace
} // namespace ballast::simulation
