#include "runtime/commit.hpp"

#include <algorithm>

namespace ballast {

commit_tracker::commit_tracker(size_t world, step_number committed,
                               std::vector<committed_step> inherited)
    : committed_(committed),
      base_(inherited.empty() ? committed : inherited.back().step),
      applied_(world, committed),
      waiting_(inherited.begin(), inherited.end()) {}

std::vector<committed_step>
commit_tracker::applied(size_t rank, const std::vector<step_record>& steps) {
  for (const step_record& record : steps) {
    if (record.step != next(applied_[rank]))
      continue;
    applied_[rank] = record.step;
    size_t place = value(record.step) - value(committed_) - 1;
    if (place == waiting_.size())
      waiting_.push_back({record.step, record.epoch, {}, record.plan, 0,
                          record.samples, record.loss, record.t_ns});
    else
      waiting_[place].t_ns = std::min(waiting_[place].t_ns, record.t_ns);
  }
  return collect();
}

std::vector<committed_step> commit_tracker::holds_base(size_t rank) {
  applied_[rank] = std::max(applied_[rank], base_);
  return collect();
}

std::vector<committed_step> commit_tracker::waiting(step_number last) const {
  std::vector<committed_step> out(waiting_.begin(), waiting_.end());
  while (!out.empty() && out.back().step > last)
    out.pop_back();
  return out;
}

std::vector<committed_step> commit_tracker::collect() {
  step_number held = *std::min_element(applied_.begin(), applied_.end());
  std::vector<committed_step> out;
  while (committed_ < held) {
    out.push_back(waiting_.front());
    waiting_.pop_front();
    committed_ = next(committed_);
  }
  return out;
}

} // namespace ballast
