/// Workers that take no part in a run any more because of something of their
/// own (unfit.cpp, bits.cpp).
#pragma once

#include "runtime/coordinator/parts.hpp"
#include "runtime/messages/loss_cause.hpp"

namespace ballast::coordinator {

/// It is lost to this run, and told why.
void dismiss(coordinator_parts& p, worker_id who, losses::dismissed why,
             instant now);
/// A newcomer of a reproducible run is loaded. True: it computes other bits
/// than the others, and is dismissed.
bool refuse_unlike(coordinator_parts& p, const worker_loaded& message,
                   instant now);
/// All that a generation begins with are loaded. False: they do not compute the
/// same bits, and the odd ones are dismissed, or the run has failed.
bool begin_alike(coordinator_parts& p, const generation_state& members,
                 instant now);

} // namespace ballast::coordinator
