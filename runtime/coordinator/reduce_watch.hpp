/// Whether a generation waits for itself: every worker beats, none computes,
/// and the all-reduce of a step ends for nobody. A dead peer is found sooner,
/// by its heartbeats or by the others' sockets; this finds what neither shows,
/// such as a kernel of NCCL that spins for bytes that nobody will send. Pure.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/instant.hpp"
#include "runtime/messages/node_reports.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <vector>

namespace ballast::coordinator {

class reduce_watch {
public:
  /// Before a reduction that takes longer was seen. A large model over a slow
  /// network may need it.
  static constexpr std::chrono::seconds patience_min{60};
  /// Of the longest reduction that ended.
  static constexpr int patience_times = 20;

  struct finding {
    step_number step{};
    instant waited{};
  };

  void heard(const heartbeat& beat, instant now);
  void forget(worker_id who) { known_.erase(who); }
  /// The listener itself stood still: whoever still reduces begins now.
  void excuse() { known_.clear(); }

  /// If all `members` of the generation are in the reduction of one step for
  /// too long. The next one is waited for twice as long: if it was only slow,
  /// the run goes on after some attempts.
  std::optional<finding> stuck(const std::vector<worker_id>& members,
                               generation of);

private:
  struct entry {
    ballast::generation generation{};
    step_number step{};
    instant since{}; // the first heartbeat out of this reduction
    instant heard{};
  };
  std::map<worker_id, entry> known_; // those that reduce
  instant longest_{};
  int64_t doubled_ = 1;
};

} // namespace ballast::coordinator
