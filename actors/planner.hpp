/// The planner: looks at the load of the run that trains, says what should
/// move, and explains to users why. The shard manager spawns it, gives it the
/// data set, and passes questions on to it. It has a thread of its own, because
/// a search may take a second: shares after a failure are placed meanwhile.
#pragma once

#include "actors/local_protocol.hpp"
#include "runtime/balance/balancer.hpp"

#include <functional>
#include <memory>
#include <string>

namespace ballast::actors {

class planner final : public planner_actor::base {
public:
  /// `on_defect`: a handler threw, and why; may be empty.
  planner(caf::actor_config& actor,
          const std::function<void(const std::string&)>& on_defect);
  behavior_type make_behavior() override;
  const char* name() const override { return "planner"; }

private:
  control_reply explain(const plan_request& request) const;
  control_reply explain(const explain_request& request) const;

  std::unique_ptr<balance::balancer> balance_; // null: no data set
};

} // namespace ballast::actors
