/// What the coordinator asks of the shard manager when a membership begins: a
/// plan for it. Plain data.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

/// Shard manager: an owner for every interval; `before` without shares: the
/// first plan of the run.
struct place_shares {
  ballast::generation generation{};
  plan_number number{};
  std::vector<worker_id> workers; // by rank
  plan before;
  /// Bytes of chunks that each may hold, by rank; empty = no limits.
  std::vector<uint64_t> limits = {};
};

} // namespace ballast
