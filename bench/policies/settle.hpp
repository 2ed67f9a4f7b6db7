/// Static placements: how many units a balancer moves until all is balanced,
/// and how many our planner moves for the same. Every move is done and seen at
/// once, and a balancer is stopped at the very unit that brings the placement
/// into the band: no delay, no noise, no policy moves more than its own rule
/// requires.
#pragma once

#include "bench/policies/band.hpp"
#include "bench/policies/generators.hpp"
#include "bench/policies/policy.hpp"

namespace ballast::policies {

struct settled {
  uint64_t moved = 0; // a unit that moves twice counts twice
  uint64_t ticks = 0;
  bool balanced = false; // else it stalled, or moved without end
  double skew = 0;       // of the worst worker
  double size_error = 0; // likewise
  balance::label_counts after;
};

settled settle(policy& who, const balance::label_counts& held,
               const std::vector<double>& parts, const band& wanted);

/// Our planner, for the band: exact sizes, the whole budget. A balanced
/// placement stays.
settled settle_by_quota(const balance::label_counts& held,
                        const std::vector<double>& parts, const band& wanted);

/// Skew in whole rows: rows beyond the whole rows of a fair share, as a
/// fraction of the worker's rows. Between the total variation distance and that
/// plus classes / size; no worker can have less of it than its whole rows
/// allow.
double whole_row_skew(const balance::label_counts& held);

/// Our planner for exactly the balance that another policy has reached: the
/// same size of every worker, and no worker more skewed than its worst in whole
/// rows.
balance::quota quota_for_same_balance(const balance::label_counts& held,
                                      const balance::label_counts& reached);

/// Our planner with whole chunks of this many rows (a few are cut for sizes),
/// as in the product: rows moved, and the resulting balance.
settled settle_by_chunks(const instance& what, uint32_t chunk_rows,
                         const band& wanted);

/// One of each balancer, with the options of its source.
std::vector<std::unique_ptr<policy>> all_policies(uint64_t seed);

} // namespace ballast::policies
