/// The fewest rows, in whole pieces, that meet a demand. Pieces round, so a
/// plan that aims at the budget itself may end above it; one that aims far
/// below it moves more than necessary. The search therefore tries the budget
/// itself first, and then smaller aims, until the actual result keeps the
/// budget; and whole chunks first, then parts. All of it shares the effort of
/// `how`: another search begins only if enough is left for it. Pure.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/balance/shard_moves.hpp"

namespace ballast::balance {

struct aimed_moves {
  move_list list;
  uint64_t target_moved = 0; // by the quota aimed at; 0: nothing to do
  double skew_max = 0;       // after all moves
  bool cut_short = false;    // for lack of effort: a better one may exist
};

/// `demand.skew_tv` is the budget. `how` holds everything but the target; its
/// `bytes_max` is applied after the list is chosen. If no aim keeps the budget,
/// returns the closest result.
aimed_moves fewest_moves(const quota_request& demand, const move_request& how);

} // namespace ballast::balance
