/// Tells the account of the workers' time what they did. With each tick, and
/// whenever the phase of the run has changed (silence.cpp).
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/coordinator/parts.hpp"

namespace ballast::coordinator {

/// Since the last call; the run was in this phase.
void account_time(coordinator_parts& p, run_phase phase, instant now);

} // namespace ballast::coordinator
