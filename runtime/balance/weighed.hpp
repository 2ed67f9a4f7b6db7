/// What a dry run weighed, in sentences for whoever asks why the data lie as
/// they do: what is asked for, what each way to get there costs, why not more,
/// and what would change the decision. Pure.
#pragma once

#include "runtime/balance/balancer.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast {

/// What another skew budget costs, in rows at least.
struct budget_price {
  double skew_tv = 0;
  uint64_t moved_rows = 0;
};

/// The plan that was looked at, and those that were not taken.
struct weighed_plan {
  uint64_t moved_rows = 0;
  uint64_t bound_rows = 0; // no plan that leads as far moves fewer
  double takes_s = 0;
  std::vector<uint64_t> sizes; // wanted, by rank
  uint64_t sizes_only_rows = 0;
  uint64_t anew_rows = 0;            // to deal all rows anew
  std::vector<budget_price> budgets; // ascending
};

/// Of the last view; its number where there was none.
std::string worker_name(const balancer& of, size_t rank);

/// What the code of the last look means.
std::string sentence(const balancer& of);

/// What would have to be otherwise for another code.
/// Precondition: a plan is in force.
std::string would_change(const balancer& of);

/// Lists of sentences under "asked" and "prices", one under "why_not_more" and
/// under "would_change". Precondition: a plan is in force.
nlohmann::ordered_json in_words(const balancer& of,
                                const balancer::split_view& split,
                                const weighed_plan& what);

} // namespace ballast
