/// Moments of a recovery, and of the search for a finished model.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/messages/loss_cause.hpp"

#include <string>
#include <variant>

namespace ballast::coordinator {

/// Why a recovery began, as the coordinator saw it.
namespace recovery_reasons {

struct worker_lost {
  std::string worker;
  loss_cause cause;
};
/// Not lost yet: it may still answer the fence.
struct worker_silent {
  std::string worker;
  losses::silent what;
};
struct collective_failed {
  std::string worker; // says so
  std::string why;
};
/// Leaves of a step had other bits at a second attempt.
struct bits_differed {
  std::string why;
};
struct coordinator_restarted {};

} // namespace recovery_reasons

using recovery_reason =
    std::variant<recovery_reasons::coordinator_restarted,
                 recovery_reasons::worker_lost, recovery_reasons::worker_silent,
                 recovery_reasons::collective_failed,
                 recovery_reasons::bits_differed>;

/// "worker w2 lost: killed by signal 9 (Killed)".
std::string describe(const recovery_reason& what);

/// How a recovery went, for the event of its generation: the moment at which
/// each phase ended.
struct recovery_times {
  recovery_reason reason;
  worker_id lost{}; // whom the reason names, if it names one
  /// The reason is what a worker saw itself, not what came of it.
  bool first_hand = false;
  instant begun{};  // the last good sign of whom it lost, or the first bad one
  instant fenced{}; // the fence is sent
  instant acked{};  // everybody answered, or is excluded
  instant placed{}; // new owners are journaled
  instant loaded{}; // every rank listens
  instant ready{};  // connected, states brought to the base
};

/// All have finished, and each was asked for the model in vain. They are asked
/// again until one hands it out, none is left, or this time is over.
struct model_search {
  std::string why; // the last one failed; empty while one is asked
  instant again{};
  instant until{};
};

} // namespace ballast::coordinator
