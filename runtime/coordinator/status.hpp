/// What the coordinator shows of itself, as JSON. Pure.
#pragma once

#include "runtime/coordinator/coordinator.hpp"

namespace ballast {

/// GET /v1/status. `now` for heartbeat ages.
nlohmann::json status_json(const coordinator_core& core, instant now);
/// workers.json.
nlohmann::json workers_json(const coordinator_core& core);

} // namespace ballast
