// The part of the balancer that says why rows should move, and what speaks
// against looking for moves now.
#include "runtime/balance/balancer.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::balance {

namespace {

/// The fraction of this epoch's time that workers would wait once these sizes
/// are reached, if it is large enough to justify moving rows for this epoch
/// alone; else 0.
double lost_in_time(const sizes_request& request,
                    const std::vector<uint64_t>& sizes, const load_view& view,
                    const balance_policy& policy) {
  const uint64_t epoch = view.steps_per_epoch;
  if (epoch < policy.epoch_steps_min)
    return 0; // no plan would take effect in time
  const double lost = lost_in_this_epoch(request, sizes);
  const double of_the_rest =
      lost * double(epoch) / double(std::max(epoch, view.steps_left));
  const bool worth_it = view.steps_left <= epoch
                            ? lost > policy.lost_part_max
                            : of_the_rest > policy.lost_and_back_max;
  return worth_it ? lost : 0;
}

sizes_request request_of(const std::vector<uint64_t>& weights,
                         const plan_view& now, const load_view& view,
                         uint64_t batch, uint64_t row_bytes) {
  sizes_request out;
  out.weights = weights;
  out.batch = batch;
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    const worker_load& load = view.workers.at(rank);
    out.owned.push_back(now.held.of_worker(rank));
    out.left.push_back(load.rows_left);
    out.room.push_back(load.store_free_bytes / row_bytes);
  }
  return out;
}

} // namespace

std::vector<uint64_t>
balancer::wanted_sizes(const std::vector<uint64_t>& weights) const {
  const sizes_request request = request_of(
      weights, now_, last_view_, policy_.global_batch, set_.row_bytes);
  std::vector<uint64_t> lasting = lasting_sizes(request);
  return lost_in_time(request, lasting, last_view_, policy_) == 0
             ? lasting
             : sizes_for_this_epoch(request);
}

move_cause balancer::find_cause(const split_view& split,
                                const std::vector<uint64_t>& weights) const {
  move_cause out;
  const sizes_request now = request_of(weights, now_, last_view_,
                                       policy_.global_batch, set_.row_bytes);
  const std::vector<uint64_t> lasting = lasting_sizes(now);
  out.excess = most_excess(now, lasting);
  if (split.known) {
    // The weights may come from a speed that is over.
    sizes_request measured = now;
    measured.weights = split.best.rows;
    out.excess =
        std::min(out.excess, most_excess(now, lasting_sizes(measured)));
  }
  for (size_t rank = 0; rank < now_.ranks.size(); ++rank)
    if (now_.held.classes > 1 && now_.skew[rank] > skew_trigger(rank))
      out.over_budget = std::max(out.over_budget, now_.skew[rank]);
  out.lost = lost_in_time(now, now.owned, last_view_, policy_);
  out.by_size = out.excess > speeds_.gain_min(policy_) || out.lost > 0;
  return out;
}

/// Why no plan is looked for now, or `planned`.
balance_code balancer::wait_for(const move_cause& cause,
                                const split_view& split) {
  const double error = std::hypot(sizes_error_, split.lasting_error);
  if (!cause.by_size && split.known &&
      policy_.gain_errors * split.lasting_error <= speeds_.gain_min(policy_))
    sizes_error_ = split.lasting_error;
  if (cause.by_size && cause.over_budget == 0 && !rest_.some()) {
    if (!speeds_.may_move_rows(window_, policy_))
      return balance_code::dwell;
    if (cause.lost == 0 && cause.excess < policy_.gain_errors * error)
      return balance_code::noise_floor;
  }
  if (!cause.by_size && cause.over_budget == 0) {
    rest_ = {};
    const bool met =
        (now_.held.classes <= 1 || state_.skew_max <= policy_.skew_tv) &&
        cause.excess <= policy_.size_tolerance;
    return met ? balance_code::at_optimum : balance_code::below_trigger;
  }
  if (balance_code wait = wait_for_speeds(split); wait != balance_code::planned)
    return wait;
  return window_ < moves_pause_.until ? moves_pause_.why
                                      : balance_code::planned;
}

} // namespace ballast::balance
