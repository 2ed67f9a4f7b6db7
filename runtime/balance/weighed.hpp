/// Explains a dry run in sentences: the demands, the cost of each way to meet
/// them, why no more is moved, and what would change the decision. Pure.
#pragma once

#include "runtime/balance/balancer.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ballast::balance {

/// The cost of another skew budget: the least number of rows.
struct budget_price {
  double skew_tv = 0;
  uint64_t moved_rows = 0;
};

/// The plan that was considered, and the alternatives.
struct weighed_plan {
  uint64_t moved_rows = 0;
  uint64_t bound_rows = 0; // no plan to an equal state moves fewer
  double takes_s = 0;
  std::vector<uint64_t> sizes; // requested, by rank
  // For the sizes that the plan reaches, so that these compare with its rows:
  // it may miss what is requested by a tolerance.
  uint64_t sizes_only_rows = 0;
  uint64_t anew_rows = 0;            // to redistribute all rows
  std::vector<budget_price> budgets; // ascending
};

/// In the last view; its number if there was none.
std::string worker_name(const balancer& of, size_t rank);

/// The meaning of the last window's code.
std::string sentence(const balancer& of);

/// The changes that would lead to another code. Precondition: a plan is in
/// force.
std::string would_change(const balancer& of);

/// Lists of sentences under "asked" and "prices", one under "why_not_more" and
/// under "would_change". Precondition: a plan is in force.
nlohmann::ordered_json in_words(const balancer& of, const split_view& split,
                                const weighed_plan& what);

} // namespace ballast::balance
