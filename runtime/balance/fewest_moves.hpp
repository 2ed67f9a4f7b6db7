/// The fewest rows in pieces that meet a demand. Pieces round, so a plan that
/// aims at the budget itself may end above it; one that aims far below moves
/// more than it has to. So the budget itself is tried first, and then less and
/// less, until what really comes of it keeps the budget. Pure.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/balance/shard_moves.hpp"

namespace ballast {

struct aimed_moves {
  move_list list;
  uint64_t target_moved = 0; // by the quota that was aimed at; 0: nothing to do
  double skew_max = 0;       // once all of them are done
};

/// `demand.skew_tv` is the budget. `how`: everything but the target; what
/// follows from its `bytes_max` is done once the list is chosen. Where no aim
/// keeps the budget: what comes nearest to it.
aimed_moves fewest_moves(const quota_request& demand, const move_request& how);

} // namespace ballast
