/// The plan in force as the balancer sees it: who owns how many rows of which
/// class, and how far that is from the whole set. A value, made anew for every
/// plan. Pure.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/balance/coverage.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/plan.hpp"

#include <cstdint>
#include <vector>

namespace ballast::balance {

struct plan_view {
  ledger::plan of; // no shares: there is no plan yet
  std::vector<worker_id> ranks;
  label_counts held;
  std::vector<lone_class> lone;
  std::vector<double> skew; // by rank, as the next one
  /// The expected skew of a random share of the same size.
  std::vector<double> noise_floors;

  bool some() const { return !of.shares.empty(); }
  double skew_max() const;
};

plan_view view_of(const ledger::plan& in_force, const chunk_labels& labels);

/// Of a full batch, by rank. `leaves`: of a step, 0 = of order local.
std::vector<uint64_t> takes_of(const ledger::plan& of, uint64_t global_batch,
                               uint32_t leaves = 0);

/// All workers own as many rows as before.
bool same_sizes(const label_counts& a, const label_counts& b);

} // namespace ballast::balance
