/// One fence: the coordinator stops every generation up to `level` and learns
/// what each of its members holds. It is over when everybody has answered, or
/// is known to be dead; whoever does neither by the deadline is excluded (see
/// silence.cpp; how long that is follows from the heartbeat, see
/// failure_detector.hpp). The base of the next generation is the maximum over
/// these fresh answers, never what a journal remembers.
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/messages/reports.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast::coordinator {

class fence {
public:
  fence(generation level, std::set<worker_id> asked, std::string reason,
        instant begun, instant patience)
      : level_(level), awaited_(std::move(asked)), reason_(std::move(reason)),
        begun_(begun), asked_last_(begun), deadline_(begun + patience) {}

  generation level() const { return level_; }
  const std::string& reason() const { return reason_; }

  /// It answers this fence, and was asked.
  bool awaits(const final_ack& ack) const {
    return ack.level == level_ && awaited_.contains(ack.worker);
  }
  /// False if it answers another fence or was not awaited.
  bool take(const final_ack& ack);
  /// Dead or excluded: what it holds counts no more.
  void forget(worker_id who);

  bool complete() const { return awaited_.empty(); }
  const std::set<worker_id>& awaited() const { return awaited_; }
  const std::map<worker_id, final_ack>& acks() const { return acks_; }
  /// The newest step that a living worker holds; nothing if nobody vouches for
  /// any state.
  std::optional<step_number> base() const;
  /// Sent before its sender heard of the fence. The answers tell of earlier
  /// epochs, perhaps, and come first.
  void hear(const evaluation_report& report) { heard_.push_back(report); }
  /// What they tell of the ends of epochs, in their order.
  std::vector<evaluation_report> evaluations() const;

  // -- time
  instant begun() const { return begun_; }
  /// When somebody who can answer was asked for the first time: all at the
  /// beginning, except who was away then.
  instant asked_last() const { return asked_last_; }
  void asked(instant now) { asked_last_ = now; }
  /// Who is still awaited is late.
  bool overdue(instant now) const { return now > deadline_; }
  /// Answers count until then, at least.
  void wait_until(instant until) { deadline_ = std::max(deadline_, until); }
  /// The coordinator itself stood still so long, until now: nobody is late for
  /// that. What it did since is not later for it.
  void excuse(instant away, instant now) {
    begun_ = std::min(begun_ + away, now);
    asked_last_ = std::min(asked_last_ + away, now);
    deadline_ += away;
  }

private:
  generation level_;
  std::set<worker_id> awaited_;
  std::map<worker_id, final_ack> acks_;
  std::vector<evaluation_report> heard_;
  std::string reason_;
  instant begun_;
  instant asked_last_;
  instant deadline_;
};

} // namespace ballast::coordinator
