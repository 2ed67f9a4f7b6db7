/// What report.json says of a run, from the coordinator's parts. Pure.
#pragma once

#include "monitor/report.hpp"
#include "runtime/coordinator/actions.hpp"
#include "runtime/coordinator/parts.hpp"

namespace ballast::actors {

monitor::run_report summary_of(const coordinator::coordinator_parts& core,
                               const coordinator::end_run& how);

} // namespace ballast::actors
