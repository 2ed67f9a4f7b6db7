/// Which workers wait for bytes of their share in vain. A worker watches each
/// of its own transfers (data/transfer/stall_watch.hpp) and says what it lacks;
/// this finds those whose watch hangs with the rest. Pure.
#pragma once

#include "runtime/base/no_progress.hpp"
#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/messages/loss_cause.hpp"
#include "runtime/messages/node_reports.hpp"

#include <map>
#include <vector>

namespace ballast::coordinator {

class load_watch {
public:
  /// Well above what the worker itself waits, and its second attempt.
  static constexpr std::chrono::seconds patience = 4 * bulk_patience;

  struct finding {
    worker_id who{};
    losses::starved what;
  };

  /// A worker that beats but gets nothing is found by its own heartbeats, so
  /// that a coordinator that stood still finds nobody.
  void heard(const heartbeat& beat, instant now);
  void forget(worker_id who) { known_.erase(who); }
  /// In order of their ids; each is told once.
  std::vector<finding> stalled();

private:
  struct entry {
    ballast::generation generation{};
    uint64_t share = 0;
    uint64_t arrived = 0;
    instant since{}; // its last byte
    instant heard{};
    bool told = false;
  };
  std::map<worker_id, entry> known_;
};

} // namespace ballast::coordinator
