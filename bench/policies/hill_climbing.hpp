/// Random hill climbing, as Redpanda's leader balancer does it. Source:
/// redpanda-data/redpanda, src/v/cluster/scheduling/leader_balancer_random.h
/// and leader_balancer_constraints.cc.
///
/// The error is the sum over shards of (leaders - target)^2 and, the same for
/// every topic, of (leaders of the topic - target)^2. A reassignment of some
/// group to some shard is drawn by chance; it is accepted if it lowers the
/// error by more than 1e-6. The index is made anew for every tick from what is
/// reported: what an earlier tick has moved counts only once a report says so.
/// Groups that are moving are passed over, and at most so many move at once.
///
/// Labels are topics: this one knows them from home.
///
/// Two failures come with it. Ticks that are faster than reports mend the same
/// imbalance twice and undo half of it later (in the sibling for partitions:
/// redpanda-data/redpanda, pull request 29241). And the more may move at once,
/// the more moves there are for nothing, as with elastic/elasticsearch, issue
/// 87279. Few at once, and a report for every tick, make both small.
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

  /// By how much the error would fall if a unit of the label moved.
  static double gain(const label_counts& index,
                     const std::vector<double>& parts, size_t label,
                     size_t from, size_t to);

private:
  struct errors;
  hill_climbing_options options_;
  unit_picker picker_;
};

} // namespace ballast::policies
