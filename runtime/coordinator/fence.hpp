/// One fence: the coordinator stops every generation up to `level` and learns
/// what each of its members holds. It is over when everybody has answered, or
/// is known to be dead; whoever does neither in time is excluded. The base of
/// the next generation is the maximum over these fresh answers, never what a
/// journal remembers.
#pragma once

#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/messages/reports.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ballast {

class fence {
public:
  fence(generation level, std::set<worker_id> asked, std::string reason)
      : level_(level), awaited_(std::move(asked)), reason_(std::move(reason)) {}

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
  /// What they tell of the ends of epochs, in their order.
  std::vector<evaluation_report> evaluations() const;

private:
  generation level_;
  std::set<worker_id> awaited_;
  std::map<worker_id, final_ack> acks_;
  std::string reason_;
};

} // namespace ballast
