/// What a run shows of itself, as JSON. Pure.
#pragma once

#include "runtime/coordinator/run_status.hpp"

#include <nlohmann/json_fwd.hpp>

namespace ballast::monitor {

/// GET /v1/status.
nlohmann::json status_json(const coordinator::run_status& of);
/// workers.json.
nlohmann::json workers_json(const coordinator::run_status& of);

} // namespace ballast::monitor
