/// The plan after a change of membership: the same flow as balancing, with
/// other sizes. The remaining workers get the rows of the lost ones, a newcomer
/// gets its part from those with most, and nothing else moves; among equal
/// choices every worker's labels come nearer to the global distribution. A run
/// stands still meanwhile, so the effort is small; sizes come before labels.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/foreseen_repair.hpp"
#include "runtime/balance/place_shares.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <vector>

namespace ballast::balance {

/// `workers` in rank order. Pure; the result is a partition if `before` is one.
/// Batch weights stay in proportion to the known speeds: a newcomer counts as
/// the mean of the others.
ledger::plan repaired_plan(const ledger::manifest& set, double skew_tv,
                           const ledger::plan& before,
                           const std::vector<worker_id>& workers,
                           generation gen, plan_number number);
ledger::plan repaired_plan(const ledger::manifest& set,
                           const chunk_labels& labels, double skew_tv,
                           const ledger::plan& before,
                           const std::vector<worker_id>& workers,
                           generation gen, plan_number number);

/// The shard manager's reply to place_shares: the first plan or a repaired one,
/// within the limits (memory_fit.hpp).
placed_shares place(const ledger::manifest& set, const chunk_labels& labels,
                    double skew_tv, const place_shares& what);
/// The same by a repair that was made beforehand, and answers that.
placed_shares place(const ledger::manifest& set, const chunk_labels& labels,
                    const foreseen_repair& known, const place_shares& what);
placed_shares place(const ledger::manifest& set, double skew_tv,
                    const place_shares& what);

} // namespace ballast::balance
