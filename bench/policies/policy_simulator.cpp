/// Our planner and the balancers of other systems on the same placements, in
/// virtual time: how many rows each moves for the same final balance, and how
/// they behave with late reports. Part `policies` of bench/balance.py reads it.
///
///   policy_simulator settle [SEEDS]     CSV; static placements
///   policy_simulator timeline           CSV; reports, delays, noise
#include "bench/policies/hill_climbing.hpp"
#include "bench/policies/region_score.hpp"
#include "bench/policies/settle.hpp"
#include "bench/policies/timeline.hpp"

#include "runtime/placement/placement.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace ballast;
using namespace ballast::policies;

namespace {

constexpr uint32_t classes = 10;
constexpr uint64_t rows_in_set = 64'000;
constexpr uint32_t chunks_per_worker = 25;
const band wanted;

uint64_t bound_for(const instance& what) {
  return balance::moves_bound(
      {.held = what.held,
       .sizes = placement::split_by_shares(what.held.total(), what.parts),
       .skew_tv = wanted.skew_tv,
       .holders_min = 0});
}

void print(const generator& how, uint32_t workers, uint64_t seed,
           const std::string& who, const settled& found, uint64_t ours,
           uint64_t bound) {
  std::printf("\"%s\",%u,%llu,\"%s\",%llu,%llu,%llu,%.4f,%.4f,%d,%llu\n",
              how.name.c_str(), workers, (unsigned long long)seed, who.c_str(),
              (unsigned long long)found.moved, (unsigned long long)ours,
              (unsigned long long)bound, found.skew, found.size_error,
              found.balanced ? 1 : 0, (unsigned long long)found.ticks);
}

void compare(const generator& how, uint32_t workers, uint64_t seed) {
  instance what = generate(how, workers, classes, rows_in_set, seed);
  uint64_t bound = bound_for(what);
  settled ours = settle_by_quota(what.held, what.parts, wanted);
  print(how, workers, seed, "ours", ours, ours.moved, bound);
  auto chunk_rows = uint32_t(rows_in_set / workers / chunks_per_worker);
  settled chunks = settle_by_chunks(what, chunk_rows, wanted);
  print(how, workers, seed, "ours, whole chunks", chunks,
        quota_for_same_balance(what.held, chunks.after).moved, bound);
  for (const auto& who : all_policies(seed)) {
    settled found = settle(*who, what.held, what.parts, wanted);
    print(how, workers, seed, who->name(), found,
          quota_for_same_balance(what.held, found.after).moved, bound);
  }
}

void print(const scenario& what, const std::string& who, const story& told) {
  std::printf(
      "\"%s\",\"%s\",%llu,%llu,%llu,%llu,%llu,%lld,%.4f\n", what.name.c_str(),
      who.c_str(), (unsigned long long)told.rounds,
      (unsigned long long)told.moved, (unsigned long long)told.twice,
      (unsigned long long)told.back, (unsigned long long)told.redundant,
      told.balanced_after == UINT64_MAX ? -1LL : (long long)told.balanced_after,
      told.balanced_part);
}

void play_all(const scenario& what) {
  print(what, "ours", play_ours(what, wanted));
  for (const auto& who : all_policies(what.seed))
    print(what, who->name(), play(*who, what, wanted));
  region_score overwritten(what.seed, {.influence_overwritten = true});
  print(what, overwritten.name(), play(overwritten, what, wanted));
  for (uint32_t at_once : {16, 128}) {
    hill_climbing climber(what.seed, {.in_flight_max = at_once});
    print(what, climber.name() + ", " + std::to_string(at_once) + " at once",
          play(climber, what, wanted));
  }
}

} // namespace

int main(int argc, char** argv) {
  if (argc >= 2 && std::strcmp(argv[1], "settle") == 0) {
    int seeds = argc > 2 ? std::atoi(argv[2]) : 3;
    std::printf("generator,workers,seed,policy,moved,ours_for_same,bound,skew,"
                "size_error,balanced,ticks\n");
    for (const generator& how : generators())
      for (uint32_t workers : {4, 16, 64})
        for (int seed = 1; seed <= seeds; ++seed)
          compare(how, workers, uint64_t(seed));
    return 0;
  }
  if (argc == 2 && std::strcmp(argv[1], "timeline") == 0) {
    std::printf("scenario,policy,rounds,moved,twice,back,redundant,"
                "balanced_after,balanced_part\n");
    for (const scenario& what : scenarios())
      play_all(what);
    return 0;
  }
  std::fprintf(stderr, "usage: policy_simulator settle [SEEDS] | timeline\n");
  return 2;
}
