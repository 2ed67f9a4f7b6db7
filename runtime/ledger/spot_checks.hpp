/// Which leaves of a step are computed twice, and by whom (verify): one of each
/// worker that has any with rows, in turn, by the worker of the rank before it.
/// A leaf's gradient depends on seed, step and leaf alone, so whoever computes
/// it gets the same bits, unless a core or a memory errs. Pure.
#pragma once

#include "runtime/ledger/leaves.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::ledger {

struct spot_check {
  uint32_t leaf = 0;
  uint32_t owner = 0;   // rank
  uint32_t checker = 0; // rank; the owner if it is alone
  /// The rank that computes the leaf where the two differ; -1: there is none.
  int32_t third = -1;
  friend bool operator==(const spot_check&, const spot_check&) = default;
};

/// Of a step of `rows` rows; `by_rank`: the leaves of each. Each rank owns
/// at most one of them and checks at most one. `turn`: how many steps were
/// checked before, so that all leaves of a rank have their turn.
std::vector<spot_check> spot_checks(std::span<const leaf_ranges> by_rank,
                                    uint64_t rows, uint32_t leaves,
                                    uint64_t turn);

} // namespace ballast::ledger
