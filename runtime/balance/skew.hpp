/// Skew: the total variation distance between the label distribution of a
/// worker's rows and the global one: half the sum over classes of the absolute
/// difference of shares; 0 = equal, 1 = disjoint. Measured over all owned rows,
/// not over the rest of the epoch.
///
/// A part of a cut chunk consists of other rows in each epoch, so it counts as
/// its fraction of the chunk's histogram (count_labels in
/// balance/shard_moves.hpp). Pure.
#pragma once

#include "runtime/balance/chunk_labels.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <vector>

namespace ballast::balance {

/// In [0, 1]. Histograms of different totals are compared as distributions; 0
/// if one of them is empty.
double total_variation(const std::vector<double>& a,
                       const std::vector<double>& b);

struct skew_report {
  std::vector<double> by_rank;
  double max = 0;
};

/// Precondition: `set` contains every chunk that `p` names.
skew_report measure_skew(const ledger::manifest& set, const ledger::plan& p);
skew_report measure_skew(const chunk_labels& labels, const ledger::plan& p);

} // namespace ballast::balance
