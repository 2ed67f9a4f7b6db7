/// Akka's least-shard allocation, the algorithm since 2.6.10. Source:
/// akka/akka,
/// akka-cluster-sharding/src/main/scala/akka/cluster/sharding/internal/
/// LeastShardAllocationStrategy.scala.
///
/// A round picks shards of regions that hold more than the optimal number
/// (rounded up), in the order of their sizes, the smallest first; if there are
/// none, one of each region that holds the optimal number, as many as others
/// are two or more short of it. At most max(1, min(relative * shards,
/// absolute)) in a round; no round while one is in progress. Each picked shard
/// then goes to the region with the fewest, one after the other.
///
/// Labels: one entity type each, with a strategy of its own, as in Akka. The
/// optimal number of a worker is its part of the label, rounded up. The source
/// no longer has a threshold (a region may be one short); `threshold` is that
/// of the deprecated algorithm: largest minus smallest must exceed it.
#pragma once

#include "bench/policies/policy.hpp"

namespace ballast::policies {

struct least_shard_options {
  uint64_t absolute_limit = 20; // the value that Akka's documentation suggests
  double relative_limit = 0.1;
  double threshold = 1;
};

class least_shard : public policy {
public:
  explicit least_shard(uint64_t seed, least_shard_options options = {})
      : options_(options), picker_(seed) {}
  std::string name() const override { return "least shard"; }
  std::vector<unit_move> tick(const cluster_view& view) override;

private:
  void round(const cluster_view& view, size_t label,
             std::vector<unit_move>& out);

  least_shard_options options_;
  unit_picker picker_;
};

} // namespace ballast::policies
