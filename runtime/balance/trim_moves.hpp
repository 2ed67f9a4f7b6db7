/// Takes back moves that sizes and budget do not need. A quota gives rows of
/// each class to each worker, and the search for pieces follows it closely,
/// although only sizes and labels within a budget were requested. Moves are
/// taken back singly, in pairs against each other, or shortened to one hop
/// (from a through b to c), and finally in part. No worker's size ends further
/// off than its tolerance, or than before; no worker's skew above the budget,
/// or above its value before. Deterministic, bounded in effort. Pure.
#pragma once

#include "runtime/balance/quota_distance.hpp"
#include "runtime/balance/search_effort.hpp"

#include <vector>

namespace ballast::balance {

struct trim_limits {
  double skew_max = 1;
  double size_tolerance = 0.02;
};

/// Locked pieces keep their destination. A piece that is taken back in part
/// becomes two. Stops early, with what was taken back so far, if the effort
/// runs out.
void trim_moves(std::vector<movable_piece>& pieces, const label_counts& target,
                const trim_limits& limits, search_effort& effort);

} // namespace ballast::balance
