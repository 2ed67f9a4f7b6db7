#include "runtime/coordinator/losses.hpp"

namespace ballast {

namespace {

/// A supervisor's report of how a process ended arrives within this time.
constexpr std::chrono::milliseconds exit_report_wait{1000};

} // namespace

void losses::begin() {
  *this = {};
}

void losses::open(const loss_report& what, instant now) {
  open_[what.worker] = {what.reason, now};
}

std::vector<std::pair<worker_id, std::string>>
losses::overdue(instant now) const {
  std::vector<std::pair<worker_id, std::string>> out;
  for (const auto& [who, why] : open_)
    if (now - why.since > exit_report_wait)
      out.emplace_back(who, why.reason);
  return out;
}

void losses::excuse(instant away) {
  for (auto& [who, why] : open_)
    why.since += away;
  return_until_ += away;
}

} // namespace ballast
