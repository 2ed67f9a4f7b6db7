/// The plan after a change of membership: the same flow as balance, with other
/// sizes. What the gone owned goes to those who stay, a newcomer gets its part
/// from those who have most, and nothing else moves; where it is free to
/// choose, every worker's labels come nearer to the global distribution.
#pragma once

#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <vector>

namespace ballast {

/// `workers` in rank order. Pure; the result is a partition wherever `before`
/// is one. Batch weights stay in proportion to what is known of the speeds: a
/// newcomer counts as the mean of the others.
plan repaired_plan(const manifest& set, double skew_tv, const plan& before,
                   const std::vector<worker_id>& workers, generation gen,
                   plan_number number);

} // namespace ballast
