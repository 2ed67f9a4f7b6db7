#include "runtime/coordinator/fence.hpp"

#include <algorithm>

namespace ballast::coordinator {

bool fence::take(const final_ack& ack) {
  if (!awaits(ack))
    return false;
  awaited_.erase(ack.worker);
  acks_[ack.worker] = ack;
  return true;
}

void fence::forget(worker_id who) {
  awaited_.erase(who);
  acks_.erase(who);
}

std::optional<step_number> fence::base() const {
  std::optional<step_number> out;
  for (const auto& [who, ack] : acks_)
    if (ack.holds_state)
      out = std::max(out.value_or(step_number{0}), ack.step);
  return out;
}

std::vector<evaluation_report> fence::evaluations() const {
  std::map<step_number, evaluation_report> told;
  for (const auto& [who, ack] : acks_)
    if (ack.holds_state)
      for (const evaluation_report& one : ack.evaluations)
        told.emplace(one.step, one);
  for (const evaluation_report& one : heard_)
    told.emplace(one.step, one);
  std::vector<evaluation_report> out;
  for (const auto& [step, one] : told)
    out.push_back(one);
  return out;
}

} // namespace ballast::coordinator
