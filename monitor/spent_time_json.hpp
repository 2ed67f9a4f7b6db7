/// {"compute": 1.25, ...}: seconds by cause, of the status and of report.json.
/// Pure.
#pragma once

#include "runtime/coordinator/time_account.hpp"

#include <nlohmann/json_fwd.hpp>

namespace ballast::monitor {

nlohmann::ordered_json to_json(const coordinator::spent_time& of);

} // namespace ballast::monitor
