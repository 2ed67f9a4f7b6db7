/// What the coordinator knows of balancing: what is under way, and what it came
/// to. Plain data; coordinator_core owns and changes it.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/balance/plan_note.hpp"
#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <optional>
#include <set>

namespace ballast {

/// Chunks on their way to the workers that are to own them, or new weights on
/// their way into force: a plan of the membership in force.
struct shard_transfer {
  balance_proposal what;
  plan offered;                 // once every chunk is where it must be
  std::set<worker_id> fetching; // not done with that
  bool sent = false;            // offered to everybody: no way back but a fence
  plan_note note;               // then
  uint64_t bytes = 0;           // that really travelled
  uint32_t refetched = 0;
  instant begun{};
};

/// Nobody looks at more steps or takes than this at once.
constexpr size_t load_steps_max = 4096;

/// What balancing did in a run; repair is not counted.
struct balance_account {
  uint64_t plans = 0;
  uint64_t moved_rows = 0;
  uint64_t moved_by_skew = 0;     // of these
  uint64_t moved_by_coverage = 0; // likewise; the others by size
  uint64_t moved_bytes = 0;
  uint64_t bound_rows = 0;       // least that had to move, of all rounds
  plan_number round{};           // the last one
  uint64_t round_bound_rows = 0; // its part
  std::optional<double> skew_start;
  balance_state state; // what the last window saw

  /// A plan for balance took effect.
  void count(const plan_note::of_balance& what);
};

} // namespace ballast
