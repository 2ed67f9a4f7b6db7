/// A plan of the shard manager on its way into force, for the membership that
/// trains: moved rows, other weights, or both. Plain data; a state of
/// membership holds it (states.hpp), moving.cpp changes it.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/balance/plan_note.hpp"
#include "runtime/base/instant.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <set>

namespace ballast::coordinator {

/// Chunks on their way to the workers that are to own them, or new weights on
/// their way into force: a plan of the membership in force.
struct pending_rebalance {
  balance::balance_proposal what;
  ledger::plan offered;         // once every chunk is where it must be
  std::set<worker_id> fetching; // not done with that
  bool sent = false;            // offered to everybody: no way back but a fence
  balance::plan_note note;      // then
  uint64_t bytes = 0;           // that really travelled
  uint32_t refetched = 0;
  instant begun{};
};

} // namespace ballast::coordinator
