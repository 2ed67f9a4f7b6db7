/// Orleans' activation rebalancer. Source: dotnet/orleans,
/// src/Orleans.Runtime/Placement/Rebalancing/ActivationRebalancerWorker.cs and
/// the defaults of ActivationRebalancerOptions.cs.
///
/// In cycles: H = entropy of p_i, which is in proportion to activations times
/// memory. The session succeeds when (Hmax - H) / Hmax is below the allowed
/// deviation (1e-4, ten times that per decade of activations beyond 10,000, at
/// most 0.1). A cycle in which H changed by less than 1e-4 of Hmax only waits;
/// after three of them the session fails. Otherwise silos are paired, the
/// lowest with the highest, the next with the next, and each pair's
///
///   delta = alpha * scale * difference / 2, alpha = H / Hmax,
///   scale = (1 - exp(-0.1 * cycle)) / (1 + 0.1 * (silos - 1))
///
/// activations, chosen at random, move from the higher to the lower one, in
/// whole numbers, even if both are above the mean. Statistics are those of the
/// last report; migrations are awaited before the next cycle.
///
/// Labels: each has a session of its own. H of a label that is on one silo is
/// 0, and by the source it would never move; so alpha is that of all units, and
/// the first cycle of a session never counts as stale. "Memory" makes silos
/// unequal in the source: here it is 1 / part. Pairs are formed by the distance
/// from the ideal number, where the source sorts by count: with unequal silos
/// that would move the wrong way. An ended session restarts two cycles later;
/// the source's back-off after failures is longer.
#pragma once

#include "bench/policies/policy.hpp"

namespace ballast::policies {

struct entropy_options {
  double quantum = 1e-4;
  double allowed_deviation = 1e-4;
  uint32_t stale_cycles_max = 3;
  double cycle_weight = 0.1;
  double silo_weight = 0.1;
};

class entropy_rebalancer : public policy {
public:
  explicit entropy_rebalancer(uint64_t seed, entropy_options options = {})
      : options_(options), picker_(seed) {}
  std::string name() const override { return "entropy"; }
  std::vector<unit_move> tick(const cluster_view& view) override;

private:
  struct session {
    uint32_t cycle = 0;
    uint32_t stale_cycles = 0;
    uint32_t waits = 0; // cycles until the next session
    double last_entropy = 0;
  };
  void run_cycle(const cluster_view& view, size_t label, double alpha,
                 session& now, std::vector<unit_move>& out);

  entropy_options options_;
  unit_picker picker_;
  std::vector<session> sessions_; // by label
};

} // namespace ballast::policies
