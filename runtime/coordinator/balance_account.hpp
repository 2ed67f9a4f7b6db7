/// What balancing came to in a run: moved rows by cause, and the least that had
/// to move. Plain data, of `rebalance`.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/balance/plan_note.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <optional>

namespace ballast::coordinator {

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
  balance::balance_state state; // what the last window saw

  /// A plan for balance took effect.
  void count(const balance::plan_note::of_balance& what);
};

} // namespace ballast::coordinator
