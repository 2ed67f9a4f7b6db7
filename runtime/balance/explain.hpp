/// Explains the distribution of the data in JSON, for `ballast ctl plan` and
/// `ballast ctl explain`. Reads the balancer's state and changes nothing. Pure.
#pragma once

#include "runtime/balance/balancer.hpp"

#include <nlohmann/json_fwd.hpp>

namespace ballast::balance {

/// A dry run: the plan that balancing would make without its patience limits
/// (triggers, sustained windows, dwell, bytes per round): moves, before and
/// after, the least number of rows that must move, the cost of other skew
/// budgets, and why it does not happen now. `certificate`: adds a proof of the
/// least number (moves_bound.hpp). `stop` breaks the search off, and the answer
/// is of no use then. Precondition: a plan is in force.
nlohmann::ordered_json explain_plan(const balancer& planner,
                                    bool certificate = false,
                                    search_effort::stop_asked stop = {});

nlohmann::ordered_json explain_worker(const balancer& planner, size_t rank);

nlohmann::ordered_json explain_chunk(const balancer& planner, chunk_id id);

} // namespace ballast::balance
