/// The rule that most home-made balancers have: every ten seconds half of the
/// difference goes from the fullest node to the emptiest one.
///
/// No single source; a tick here is those ten seconds. It remembers nothing and
/// knows of nothing that is under way. Labels: the rule for each by itself.
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
