/// The usual rule of home-made balancers: every ten seconds half of the
/// difference moves from the fullest node to the emptiest one.
///
/// No single source; a tick here is those ten seconds. It has no memory and
/// does not know of moves in flight. Labels: the rule for each separately.
#pragma once

#include "bench/policies/policy.hpp"

namespace ballast::policies {

class threshold_mover : public policy {
public:
  explicit threshold_mover(uint64_t seed) : picker_(seed) {}
  std::string name() const override { return "threshold"; }
  std::vector<unit_move> tick(const cluster_view& view) override;

private:
  unit_picker picker_;
};

} // namespace ballast::policies
