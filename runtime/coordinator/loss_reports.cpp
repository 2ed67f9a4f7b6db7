#include "runtime/coordinator/loss_reports.hpp"

namespace ballast::coordinator {

namespace {

/// A supervisor's report of how a process ended arrives within this time.
constexpr std::chrono::milliseconds exit_report_wait{1000};

} // namespace

void loss_reports::begin() {
  *this = {};
}

void loss_reports::open(const loss_report& what, instant now, bool unsent) {
  open_[what.worker] = {what.cause, now, unsent};
}

bool loss_reports::close(worker_id who) {
  const auto found = open_.find(who);
  const bool unsent = found != open_.end() && found->second.unsent;
  open_.erase(who);
  return unsent;
}

std::vector<std::pair<worker_id, loss_cause>>
loss_reports::overdue(instant now) const {
  std::vector<std::pair<worker_id, loss_cause>> out;
  for (const auto& [who, why] : open_)
    if (now - why.since > exit_report_wait)
      out.emplace_back(who, why.cause);
  return out;
}

void loss_reports::excuse(instant away) {
  for (auto& [who, why] : open_)
    why.since += away;
  return_until_ += away;
}

} // namespace ballast::coordinator
