// Whole runs in virtual time, for bench/balance.py: how many rows our balancer
// moves from the first owners to the last, against the fewest that could. No
// clock and no process: the same figures on every machine.
//
//   whole_runs placements WORKERS CHUNK_ROWS SEEDS [ROW_BYTES]
//       large rows take several rounds to copy
//   whole_runs busy WORKERS CHUNK_ROWS SEEDS    with other work on one core
//   whole_runs noise SEEDS    one hour each
//   whole_runs drift SEEDS    likewise
//   whole_runs chunks WORKERS CHUNK_ROWS SEEDS
//       what `placements` began with and ended in, a line of JSON each: for a
//       solver that knows how far chunks alone lead
#include "runtime/base/json_text.hpp"
#include "tests/runtime/balance/placed_runs.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>

namespace ballast::testing {
namespace {

void placements(uint32_t workers, uint32_t chunk_rows, uint64_t seeds,
                uint64_t row_bytes) {
  std::printf("placement,speeds,seed,moved,least,again,plans,reached,"
              "skew_after,skew_end,of_ideal\n");
  for (const char* kind : kinds)
    for (const speeds& speed : all_speeds)
      for (uint64_t seed = 1; seed <= seeds; ++seed) {
        balanced_options options;
        options.seed = seed;
        options.steps = 1200;
        options.skew_tv = budget;
        options.speed = [&](size_t rank, uint64_t step) {
          return speed.of(workers, rank, step, options.steps);
        };
        if (speed.changes())
          options.disturbed = {options.steps / 2};
        ledger::manifest set = placed_like(kind, workers, chunk_rows, seed);
        for (ledger::chunk_info& chunk : set.train)
          chunk.bytes = row_bytes > 0 ? chunk.rows * row_bytes : chunk.bytes;
        balanced_run run(set, options);
        double skew = run.skew();
        bool reached = skew <= budget;
        run.run();
        double after = 0;
        for (const balanced_run::landed& one : run.plans()) {
          if (reached)
            after = std::max(after, one.skew);
          reached = reached || one.skew <= budget;
        }
        std::printf("%s,%s,%llu,%llu,%llu,%llu,%zu,%d,%.4f,%.4f,%.4f\n", kind,
                    speed.name, (unsigned long long)seed,
                    (unsigned long long)run.moved(),
                    (unsigned long long)run.account().least(),
                    (unsigned long long)run.account().again(),
                    run.plans().size(), int(reached), after, run.skew(),
                    run.part_of_ideal());
      }
}

/// Where a run began, chunk by chunk, and the sizes it ended in.
void chunks(uint32_t workers, uint32_t chunk_rows, uint64_t seeds) {
  for (const char* kind : kinds)
    for (const speeds& speed : all_speeds)
      for (uint64_t seed = 1; seed <= seeds; ++seed) {
        if (speed.changes())
          continue; // two stories
        const ledger::manifest set =
            placed_like(kind, workers, chunk_rows, seed);
        balanced_run run(set, options_of(speed, workers, seed));
        run.run();
        nlohmann::ordered_json out{{"placement", kind},
                                   {"speeds", speed.name},
                                   {"seed", seed},
                                   {"moved", run.moved()},
                                   {"least", run.account().least()},
                                   {"skew_tv", std::max(budget, run.skew())}};
        for (const ledger::share& one : run.now().shares)
          out["sizes"].push_back(rows(one));
        for (size_t rank = 0; rank < set.placement.size(); ++rank)
          for (chunk_id id : set.placement[rank])
            out["chunks"].push_back(
                {rank, set.train[value(id)].label_histogram});
        std::printf("%s\n", json_text(out).c_str());
      }
}

/// Bursts of 60 ms, half a second and five seconds, about.
constexpr double lasting_burst = 400;
constexpr double burst_steps[] = {5, 40, lasting_burst};

void busy(uint32_t workers, uint32_t chunk_rows, uint64_t seeds) {
  std::printf("placement,speeds,burst,seed,moved,least,again,plans,of_ideal\n");
  for (const char* kind : kinds)
    for (const speeds& speed : all_speeds)
      for (double steps : burst_steps)
        for (uint64_t seed = 1; seed <= seeds && !speed.changes(); ++seed) {
          const busy_core load(seed, steps, 1200);
          balanced_options options = options_of(speed, workers, seed);
          options.speed = [&](size_t rank, uint64_t step) {
            return speed.of(workers, rank, step, 1200) *
                   (1 - load.of(rank, step));
          };
          // What lasts for many epochs is a disturbance of its own.
          if (steps == lasting_burst)
            options.disturbed = load.changes();
          balanced_run run(placed_like(kind, workers, chunk_rows, seed),
                           options);
          run.run();
          std::printf("%s,%s,%.0f,%llu,%llu,%llu,%llu,%zu,%.4f\n", kind,
                      speed.name, steps, (unsigned long long)seed,
                      (unsigned long long)run.moved(),
                      (unsigned long long)run.account().least(),
                      (unsigned long long)run.account().again(),
                      run.plans().size(), run.part_of_ideal());
        }
}

// -- an hour ------------------------------------------------------------------

constexpr auto hour_steps = uint64_t(3600 / step_s);

balanced_options an_hour(uint64_t seed) {
  balanced_options out;
  out.seed = seed;
  out.steps = hour_steps;
  out.skew_tv = budget;
  out.row_us = 2000; // a hundred rows, four workers: 50 ms
  out.steps_left = hour_steps;
  return out;
}

void noise(uint64_t seeds) {
  constexpr auto settled = uint64_t(90 / step_s);
  std::printf("placement,speeds,seed,moved,later\n");
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const char* kind = kinds[seed % std::size(kinds)];
    const speeds& speed = all_speeds[seed % 3];
    balanced_options options = an_hour(seed);
    options.noise = 0.2;
    options.speed = [&](size_t rank, uint64_t step) {
      return speed.of(4, rank, step, options.steps);
    };
    balanced_run run(placed_like(kind, 4, 25, seed), options);
    run.run();
    uint64_t later = 0;
    for (const balanced_run::landed& one : run.plans())
      if (one.step > settled)
        later += one.moved;
    std::printf("%s,%s,%llu,%llu,%llu\n", kind, speed.name,
                (unsigned long long)seed, (unsigned long long)run.moved(),
                (unsigned long long)later);
    std::fflush(stdout);
  }
}

void drift(uint64_t seeds) {
  std::printf("placement,seed,moved,hindsight,again,plans,of_ideal,skew_end\n");
  for (const char* kind : {"iid", "sorted"})
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      balanced_options options = an_hour(seed);
      options.speed = of_day;
      balanced_run run(placed_like(kind, 4, 25, seed), options);
      run.run();
      std::printf("%s,%llu,%llu,%.0f,%llu,%zu,%.4f,%.4f\n", kind,
                  (unsigned long long)seed, (unsigned long long)run.moved(),
                  rows_of_hindsight(hour_steps, set_rows / options.batch),
                  (unsigned long long)run.account().again(), run.plans().size(),
                  run.part_of_ideal(), run.skew());
      std::fflush(stdout);
    }
}

} // namespace
} // namespace ballast::testing

int main(int count, char** arguments) {
  using namespace ballast::testing;
  const std::string what = count > 1 ? arguments[1] : "";
  auto number = [&](int i) { return std::strtoull(arguments[i], nullptr, 10); };
  if (what == "placements" && (count == 5 || count == 6))
    placements(uint32_t(number(2)), uint32_t(number(3)), number(4),
               count == 6 ? number(5) : 0);
  else if (what == "chunks" && count == 5)
    chunks(uint32_t(number(2)), uint32_t(number(3)), number(4));
  else if (what == "busy" && count == 5)
    busy(uint32_t(number(2)), uint32_t(number(3)), number(4));
  else if (what == "noise" && count == 3)
    noise(number(2));
  else if (what == "drift" && count == 3)
    drift(number(2));
  else {
    std::fprintf(stderr, "usage: whole_runs placements | busy | chunks WORKERS "
                         "CHUNK_ROWS SEEDS | noise SEEDS | drift SEEDS\n");
    return 2;
  }
}
