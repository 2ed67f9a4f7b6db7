/// The coordinator's request to the shard manager for the plan of a new
/// membership. Plain data.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <vector>

namespace ballast::balance {

/// Requests an owner for every interval. `before` without shares: the first
/// plan of the run.
struct place_shares {
  ballast::generation generation{};
  plan_number number{};
  std::vector<worker_id> workers; // by rank
  ledger::plan before;
  /// Bytes of chunks that each may hold, by rank; empty = no limits.
  std::vector<uint64_t> limits = {};
};

} // namespace ballast::balance
