/// What a run's evaluations decide: which of them is the best so far, and when
/// the run is over before its last epoch; and when its time is over. Part of
/// the transitions; runtime/messages/judge.hpp has the rules.
#pragma once

#include "runtime/coordinator/parts.hpp"

#include <string>

namespace ballast::coordinator {

/// Of the state after `base`, which may not be committed yet.
judgement judged_at(const coordinator_parts& p, step_number base);
/// Of the newest committed one.
judgement judged_now(const coordinator_parts& p);

/// The newest committed step whose state knows of no evaluation that is not
/// known here: reports of steps may overtake one.
step_number judged_up_to(const coordinator_parts& p);

/// A worker's news of an evaluation.
void note_evaluation(coordinator_parts& p, const evaluation_report& report);
/// stop.max_minutes of committed steps are over: stops like a user.
void stop_in_time(coordinator_parts& p);

/// Why no step follows the newest one though the job has more epochs; empty:
/// it has none, or nothing ends it.
std::string why_early(const coordinator_parts& p);
/// A stop was asked for.
std::string why_stopped(const coordinator_parts& p);

} // namespace ballast::coordinator
