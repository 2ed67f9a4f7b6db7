/// Workers that take no part in a run any more because of something of their
/// own (unfit.cpp, bits.cpp).
#pragma once

#include "runtime/coordinator/parts.hpp"
#include "runtime/messages/loss_cause.hpp"

namespace ballast::coordinator {

/// It is lost to this run, and told why.
void dismiss(coordinator_parts& p, worker_id who, losses::dismissed why,
             instant now);
/// A worker that is loaded, of a reproducible run, computes other bits than the
/// others: it is dismissed, or the run has ended.
bool computes_other_bits(coordinator_parts& p, const worker_loaded& message,
                         instant now);

} // namespace ballast::coordinator
