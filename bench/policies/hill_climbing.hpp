/// Random hill climbing, as in Redpanda's leader balancer. Source:
/// redpanda-data/redpanda, src/v/cluster/scheduling/leader_balancer_random.h
/// and leader_balancer_constraints.cc.
///
/// The error is the sum over shards of (leaders - target)^2 and, likewise for
/// every topic, of (leaders of the topic - target)^2. A random reassignment of
/// some group to some shard is accepted if it lowers the error by more than
/// 1e-6. The index is rebuilt for every tick from the reports: the moves of an
/// earlier tick count only once a report contains them. Moving groups are
/// skipped, and the number of concurrent moves is limited.
///
/// Labels are topics, which the source has already.
///
/// It has two known failures. Ticks that are faster than reports correct the
/// same imbalance twice and undo half of it later (in the sibling for
/// partitions: redpanda-data/redpanda, pull request 29241). And the more moves
/// are allowed at once, the more of them are in vain, as with
/// elastic/elasticsearch, issue 87279. A low limit, and a report for every
/// tick, make both small.
#pragma once

#include "bench/policies/policy.hpp"

namespace ballast::policies {

struct hill_climbing_options {
  uint32_t in_flight_max = 512; // units, over all workers
};

class hill_climbing : public policy {
public:
  explicit hill_climbing(uint64_t seed, hill_climbing_options options = {})
      : options_(options), picker_(seed) {}
  std::string name() const override { return "hill climbing"; }
  std::vector<unit_move> tick(const cluster_view& view) override;

  /// The decrease of the error if a unit of the label moved.
  static double gain(const balance::label_counts& index,
                     const std::vector<double>& parts, size_t label,
                     size_t from, size_t to);

private:
  struct errors;
  hill_climbing_options options_;
  unit_picker picker_;
};

} // namespace ballast::policies
