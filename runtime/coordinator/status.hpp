/// What the coordinator shows of itself. Pure.
#pragma once

#include "runtime/coordinator/parts.hpp"
#include "runtime/coordinator/run_status.hpp"

namespace ballast::coordinator {

/// In the time that one look at every worker takes. `now` for heartbeat ages.
run_status status_of(const coordinator_parts& core, instant now);

} // namespace ballast::coordinator
