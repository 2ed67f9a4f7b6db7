/// What report.json says of a run, from the coordinator's parts. Pure.
#pragma once

#include "monitor/report.hpp"
#include "runtime/coordinator/actions.hpp"
#include "runtime/coordinator/parts.hpp"

namespace ballast {

run_report summary_of(const coordinator_parts& core, const end_run& how);

} // namespace ballast
