#include "runtime/coordinator/rebalance.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

void rebalance::begin_generation(size_t world) {
  account_.state.copy_bytes_per_s.clear(); // by rank
  newest_.assign(world, {});
  loads_.assign(world, {});
  step_us_.clear();
  copies_.clear();
}

void rebalance::report(size_t rank, const progress_report& report) {
  balance::worker_load& load = loads_.at(rank);
  load.store_free_bytes = report.store_free_bytes;
  for (const take_cost& one : report.costs)
    if (load.costs.size() < load_steps_max)
      load.costs.push_back(one);
  if (report.read_bytes > 0 && load.reads.size() < load_steps_max)
    load.reads.push_back({report.read_bytes, report.read_ns});
  progress_report& kept = newest_[rank];
  kept.rows = report.rows;
  kept.data_ns = report.data_ns;
  kept.compute_ns = report.compute_ns;
  kept.reduce_ns = report.reduce_ns;
  kept.apply_ns = report.apply_ns;
}

void rebalance::step_took(uint64_t us) {
  if (step_us_.size() < load_steps_max)
    step_us_.push_back(us);
}

void rebalance::copied(const balance::link_copy& copy) {
  if (copies_.size() < load_steps_max)
    copies_.push_back(copy);
}

balance::load_view rebalance::look(const generation_state& members) {
  balance::load_view view;
  view.generation = members.number;
  view.number = members.current.number;
  if (std::exchange(observed_, view.number) != view.number)
    view.changed = members.current;
  view.step_us = std::exchange(step_us_, {});
  view.copies = std::exchange(copies_, {});
  for (size_t rank = 0; rank < members.workers.size(); ++rank) {
    loads_[rank].worker = members.workers[rank];
    view.workers.push_back(loads_[rank]);
    loads_[rank].costs.clear();
    loads_[rank].reads.clear();
  }
  view.last = std::exchange(last_, balance::transfer_end::none);
  observing_ = true;
  return view;
}

bool rebalance::answered(balance::balance_state state) {
  if (!std::exchange(observing_, false))
    return false;
  account_.state = std::move(state);
  return true;
}

void rebalance::placed(const std::vector<share_summary>& shares) {
  if (account_.skew_start)
    return;
  double skew = 0;
  for (const share_summary& one : shares)
    skew = std::max(skew, one.skew_tv);
  account_.skew_start = skew;
}

} // namespace ballast::coordinator
