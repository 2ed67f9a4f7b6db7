/// What each worker owns and takes under a plan, as the events of a run tell
/// it: a reader who comes late can follow the balance from them alone. Pure.
#pragma once

#include "runtime/ledger/plan.hpp"
#include "runtime/messages/messages.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast {

/// `skew_tv_max`, and by name `skew_tv`, `rows` (owned) and `batch` (of a full
/// global batch). `names` and `shares` by rank.
nlohmann::ordered_json share_fields(const std::vector<std::string>& names,
                                    const plan& current,
                                    const std::vector<share_summary>& shares,
                                    uint64_t global_batch);

} // namespace ballast
