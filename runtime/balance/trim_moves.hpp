/// Takes moves back that sizes and budget do not need. A quota says how many
/// rows of each class somebody should own; a search for pieces follows it
/// further than anybody asked for, since all that was asked for is a size, and
/// labels within a budget. Moves are taken back alone, two against each other,
/// or shortened to one way (from a through b to c), and at last in part.
/// Nobody's size ends further off than its tolerance, or than it was; nobody's
/// skew above the budget, or above what it was. Deterministic, bounded in
/// effort. Pure.
#pragma once

#include "runtime/balance/quota_distance.hpp"

#include <vector>

namespace ballast {

struct trim_limits {
  double skew_max = 1;
  double size_tolerance = 0.02;
};

/// Locked pieces stay where they go. A piece that is taken back in part becomes
/// two.
void trim_moves(std::vector<movable_piece>& pieces, const label_counts& target,
                const trim_limits& limits);

} // namespace ballast
