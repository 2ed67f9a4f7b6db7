/// The reason and the effect of a plan, for the event that reports that it took
/// effect. Journaled beside the plan, so that any coordinator that sees it take
/// effect can write the event, also if the one that offered it has died. Plain
/// data.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast::balance {

struct plan_note {
  std::string reason;                // in words
  std::vector<share_summary> shares; // by rank
  /// Set for plans of the shard manager.
  struct of_balance {
    balance_cause cause = balance_cause::speed;
    double makespan_ratio = 1; // before the plan
    uint64_t moved_rows = 0;
    uint64_t moved_bytes = 0; // copied, or to come beside the steps
    uint64_t bound_rows = 0;
    uint64_t round_bound_rows = 0; // see balance_proposal
    plan_number round{};
  };
  std::optional<of_balance> balance;
};

void to_json(nlohmann::json& out, const plan_note& in);
void from_json(const nlohmann::json& in, plan_note& out);

} // namespace ballast::balance
