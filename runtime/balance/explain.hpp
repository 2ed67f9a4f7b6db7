/// Why the data lie as they do, in JSON, for `ballast ctl plan` and `ballast
/// ctl explain`. Reads what the balancer knows and changes nothing. Pure.
#pragma once

#include "runtime/balance/balancer.hpp"

#include <nlohmann/json.hpp>

namespace ballast {

/// A dry run: what balancing would do now, were every limit of patience lifted
/// (triggers, sustained windows, dwell, bytes per round): moves, before and
/// after, the least that has to move, what other skew budgets would cost, and
/// why it is not being done. `certificate`: and a proof that no fewer rows lead
/// there (moves_bound.hpp). Precondition: a plan is in force.
nlohmann::ordered_json explain_plan(const balancer& mind,
                                    bool certificate = false);

nlohmann::ordered_json explain_worker(const balancer& mind, size_t rank);

nlohmann::ordered_json explain_chunk(const balancer& mind, chunk_id id);

} // namespace ballast
