/// Skew: how far the label distribution of what a worker owns is from the
/// global one, as total variation distance: half the sum over classes of the
/// absolute difference of shares; 0 = alike, 1 = nothing in common. Measured
/// over all rows owned, not over what the epoch has left.
///
/// A part of a cut chunk means other rows each epoch, so it counts as its share
/// of the chunk's histogram (count_labels in balance/shard_moves.hpp). Pure.
#pragma once

#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/plan.hpp"

#include <vector>

namespace ballast {

/// In [0, 1]. Histograms of different totals are compared as distributions;
/// 0 where one of them is empty: nothing owned is nothing skewed.
double total_variation(const std::vector<double>& a,
                       const std::vector<double>& b);

struct skew_report {
  std::vector<double> by_rank;
  double max = 0;
};

/// Precondition: every chunk that `p` names is in `set`.
skew_report measure_skew(const manifest& set, const plan& p);

} // namespace ballast
