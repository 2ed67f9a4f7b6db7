/// Why a plan was made and what it does, for the event that tells that it took
/// effect. Kept in the journal beside the plan: whoever sees it take effect
/// tells it, also where the coordinator that offered it has died. Plain data.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

struct plan_note {
  std::string reason;                // in words
  std::vector<share_summary> shares; // by rank
  /// Of a plan that the shard manager wanted.
  struct of_balance {
    balance_cause cause = balance_cause::speed;
    double makespan_ratio = 1; // before it
    uint64_t moved_rows = 0;
    uint64_t moved_bytes = 0; // that really travelled
    uint64_t bound_rows = 0;
    uint64_t round_bound_rows = 0; // see balance_proposal
    plan_number round{};
  };
  std::optional<of_balance> balance;
};

void to_json(nlohmann::json& out, const plan_note& in);
void from_json(const nlohmann::json& in, plan_note& out);

} // namespace ballast
