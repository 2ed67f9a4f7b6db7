/// Every report of a death comes together here: that a connection closed, that
/// the kernel saw a process gone, that a collective broke, that heartbeats
/// stopped, that a supervisor reaped a child. The first one makes the loss; the
/// one that says how the process ended makes its cause, if it comes in time.
/// Also finds workers that wait for their share in vain, and keeps the time by
/// which those of an earlier life must be back. Pure.
#pragma once

#include "runtime/coordinator/load_watch.hpp"
#include "runtime/coordinator/node.hpp"

#include <map>
#include <utility>
#include <vector>

namespace ballast::coordinator {

/// A worker is lost.
struct loss_report {
  worker_id worker{};
  loss_cause cause;
  /// No better cause will come: a supervisor reaped the process, or the
  /// coordinator itself gave the worker up. Not so where a connection closed,
  /// or a peer's kernel says that the process is gone.
  bool final = true;
};

class loss_reports {
public:
  /// A job begins.
  void begin();

  // -- losses whose reason may still change
  /// `unsent`: with the worker went what it left out of compressed gradients.
  void open(const loss_report& what, instant now, bool unsent);
  bool is_open(worker_id who) const { return open_.contains(who); }
  const std::map<worker_id, departure>& open() const { return open_; }
  /// For which no better reason comes any more; in order of their ids.
  std::vector<std::pair<worker_id, loss_cause>> overdue(instant now) const;
  /// Was anything unsent?
  bool close(worker_id who);

  /// The run ends with a loss, once its reason is final.
  void end_with_reason(bool ends) { end_awaits_ = end_awaits_ || ends; }
  /// True once, if it does.
  bool take_end() { return std::exchange(end_awaits_, false); }

  // -- workers whose share does not arrive
  void beat(const heartbeat& beat, instant now) { loads_.heard(beat, now); }
  void forget_load(worker_id who) { loads_.forget(who); }
  std::vector<load_watch::finding> stalled() { return loads_.stalled(); }

  // -- workers of an earlier life
  void await_return(instant until) { return_until_ = until; }
  instant return_until() const { return return_until_; }

  /// The coordinator itself stood still so long: no wait ran meanwhile.
  void excuse(instant away);

private:
  std::map<worker_id, departure> open_;
  bool end_awaits_ = false;
  load_watch loads_;
  instant return_until_{};
};

} // namespace ballast::coordinator
