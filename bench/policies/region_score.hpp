/// TiKV's balance-region scheduler. Source: tikv/pd,
/// pkg/schedule/schedulers/balance_region.go and utils.go.
///
/// A store's score is its size by weight. Stores are ordered by score,
/// including the influence of operators: the highest is the source of one of
/// its regions, which is offered to the others, lowest first. It moves if
///
///   score(source size - 5 |influence| - tolerance) >
///   score(target size + 5 |influence| + tolerance),
///   tolerance = mean region * max(1, 0.005 * regions of the fullest store):
///
/// influence counts against a move, never for one. An operator's influence
/// counts while it runs and, because stores report late, until the next report
/// after it has ended. One operator for each tick.
///
/// Labels: a key range each, balanced separately, as the scheduler does with
/// ranges. Weights are the workers' parts. Disk space plays no role.
///
/// `influence_overwritten` brings back issue 11133 of tikv/pd: of the ended
/// operators, the table of influences keeps the newest one of a key. There the
/// key is a region; here it is a label, because one chunk weighs little: the
/// loss is coarser than in the source, and so are its effects.
#pragma once

#include "bench/policies/policy.hpp"

namespace ballast::policies {

struct region_score_options {
  bool influence_overwritten = false;
  double influence_factor = 5;
  double tolerance_part = 0.005;
  uint32_t operators_per_tick = 1; // for each label
};

class region_score : public policy {
public:
  explicit region_score(uint64_t seed, region_score_options options = {})
      : options_(options), picker_(seed) {}
  std::string name() const override {
    return options_.influence_overwritten ? "region score, overwritten"
                                          : "region score";
  }
  std::vector<unit_move> tick(const cluster_view& view) override;

private:
  struct ended_operator {
    unit_move what;
    uint32_t label = 0;
    uint64_t at = 0; // tick
  };
  void follow_operators(const cluster_view& view);
  std::vector<double> influences(const cluster_view& view, size_t label) const;
  bool balance(const cluster_view& view, size_t label,
               std::vector<unit_move>& out);

  region_score_options options_;
  unit_picker picker_;
  std::vector<unit_move> running_;
  std::vector<ended_operator> ended_; // oldest first
};

} // namespace ballast::policies
