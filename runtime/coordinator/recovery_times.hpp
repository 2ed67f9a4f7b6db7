/// Moments of a recovery, and of the search for a finished model.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/coordinator/failure_detector.hpp"

#include <string>

namespace ballast {

/// How a recovery went, for the event of its generation: the moment at which
/// each phase ended.
struct recovery_times {
  std::string reason;
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

} // namespace ballast
