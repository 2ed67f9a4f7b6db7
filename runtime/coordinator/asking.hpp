/// What users may ask of the coordinator: each request is refused, or what
/// follows from it goes into the outbox. The refusal is the answer, an empty
/// one means that it is done. Called by the coordinator actor, and where a
/// change asks for it.
#pragma once

#include "runtime/coordinator/events.hpp"
#include "runtime/coordinator/parts.hpp"

namespace ballast::coordinator {

failure ask(coordinator_parts& p, const pause_request&, instant now);
failure ask(coordinator_parts& p, const resume_request&, instant now);
failure ask(coordinator_parts& p, const checkpoint_request&, instant now);
failure ask(coordinator_parts& p, const stop_run& what, instant now);
failure ask(coordinator_parts& p, const scale_request& what, instant now);
failure ask(coordinator_parts& p, const drain_request& what, instant now);
failure ask(coordinator_parts& p, const evict_request& what, instant now);
failure ask(coordinator_parts& p, const balance_request& what, instant now);
failure ask(coordinator_parts& p, const note_request& what, instant now);
failure ask(coordinator_parts& p, const injected_fault& what, instant now);

} // namespace ballast::coordinator
