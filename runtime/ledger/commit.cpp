#include "runtime/ledger/commit.hpp"

#include <algorithm>

namespace ballast::ledger {

commit_tracker::commit_tracker(size_t world, step_number committed,
                               step_number base,
                               const std::vector<committed_step>& inherited)
    : committed_(committed), base_(base), applied_(world, committed) {
  for (const committed_step& step : inherited)
    waiting_.emplace(step.step, step);
}

void commit_tracker::note(const std::vector<step_record>& steps) {
  for (const step_record& record : steps) {
    if (record.step <= committed_)
      continue;
    auto [known, fresh] =
        waiting_.try_emplace(record.step, committed_step{record.step,
                                                         record.epoch,
                                                         {},
                                                         record.plan,
                                                         0,
                                                         record.samples,
                                                         record.loss,
                                                         record.t_ns});
    if (!fresh)
      known->second.t_ns = std::min(known->second.t_ns, record.t_ns);
  }
}

std::vector<committed_step>
commit_tracker::applied(size_t rank, const std::vector<step_record>& steps) {
  note(steps);
  // Parameters that contain a step contain all steps before it, whichever
  // process reports those.
  for (const step_record& record : steps)
    applied_[rank] = std::max(applied_[rank], record.step);
  return collect();
}

std::vector<committed_step> commit_tracker::holds(size_t rank,
                                                  step_number step) {
  applied_[rank] = std::max(applied_[rank], step);
  return collect();
}

std::vector<committed_step> commit_tracker::waiting(step_number last) const {
  std::vector<committed_step> out;
  for (const auto& [number, step] : waiting_)
    if (number <= last)
      out.push_back(step);
  return out;
}

std::vector<committed_step> commit_tracker::collect() {
  step_number held = *std::min_element(applied_.begin(), applied_.end());
  std::vector<committed_step> out;
  while (committed_ < held && !waiting_.empty() &&
         waiting_.begin()->first == next(committed_)) {
    out.push_back(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    committed_ = next(committed_);
  }
  return out;
}

} // namespace ballast::ledger
