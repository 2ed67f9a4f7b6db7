// The part of the balancer that sets priorities (the batch, then sizes and
// skew, then holders of classes) and computes the targets of each.
#include "runtime/balance/balancer.hpp"

#include "runtime/balance/percent.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// Below this fraction of a worker's time, waiting for a core does not explain
/// slowness.
constexpr double waiting_told_min = 0.1;

} // namespace

balance_code balancer::decide(const load_view& view, balance_proposal& out) {
  const balance_code otherwise =
      policy_.enabled ? balance_code::stale_report : balance_code::disabled;
  if (!plan_ || plan_->number != view.number ||
      view.workers.size() != plan_->shares.size())
    return otherwise;
  split_view split = look_at_split();
  state_.row_us.assign(plan_->shares.size(), 0);
  for (size_t rank = 0; rank < plan_->shares.size(); ++rank) {
    const speed_estimate& speed = speeds_[plan_->shares[rank].worker];
    if (speed.known() && split.takes[rank] > 0)
      state_.row_us[rank] = 1e6 * speed.cost().seconds(split.takes[rank]) /
                            double(split.takes[rank]);
  }
  state_.copy_bytes_per_s.clear();
  for (const share& one : plan_->shares)
    state_.copy_bytes_per_s.push_back(links_.into(one.worker).value_or(0));
  state_.makespan_ratio = split.known ? 1 / (1 - split.gain) : 1;
  state_.split_error = split.error;
  if (!policy_.enabled)
    return balance_code::disabled;
  if (view.transfer)
    return balance_code::pending;
  if (window_ < stalled_until_)
    return balance_code::stalled;
  if (double(view.steps_left_in_epoch) <
      policy_.epoch_end * double(view.steps_per_epoch))
    return balance_code::epoch_end;
  if (plan_->shares.size() < 2)
    return balance_code::at_optimum;

  std::vector<uint64_t> weights;
  for (const share& one : plan_->shares)
    weights.push_back(one.batch_weight);
  // If speeds never settle, other moves would postpone this for ever.
  bool waited =
      !lone_.empty() && window_ >= alone_since_ + policy_.coverage_windows;
  if (waited &&
      decide_coverage(view, split, weights, out) == balance_code::planned)
    return balance_code::planned;
  balance_code by_speed = decide_weights(split, weights);
  if (const double least = gain_min();
      split.known && split.gain < least &&
      policy_.gain_errors * split.error <= least)
    settled_at_ = speed_changes();
  if (by_speed == balance_code::planned) {
    // Free and effective at once; ownership follows.
    proposed_ = {.by_speed = true};
    finish(out, split, weights,
           "batch split by speed: step " + percent(split.gain) + " shorter" +
               why_slower(split));
    return by_speed;
  }
  balance_code by_data = decide_moves(view, split, weights, out);
  // A plan that only waits for speeds may give a second holder for nothing.
  bool soon = by_data == balance_code::stale_report ||
              by_data == balance_code::not_sustained;
  if (by_data == balance_code::planned || (soon && !waited))
    return by_data;
  balance_code by_holders = decide_coverage(view, split, weights, out);
  if (by_holders == balance_code::planned)
    return by_holders;
  // Reports the code that keeps the first of them from happening.
  for (balance_code code : {by_data, by_holders, by_speed})
    if (code != balance_code::at_optimum && code != balance_code::below_trigger)
      return code;
  return by_data == balance_code::at_optimum ? by_speed : by_data;
}

/// The known trouble with devices and cores of the workers that get smaller
/// takes.
std::string balancer::why_slower(const split_view& split) const {
  std::string out;
  for (size_t rank = 0; rank < split.takes.size(); ++rank) {
    const worker_load& load = last_view_.workers.at(rank);
    if (split.best.rows[rank] >= split.takes[rank])
      continue;
    if (!load.device_trouble.empty())
      out += "; " + load.name + " takes less, its " + load.device_trouble;
    const double waiting = speeds_.at(load.worker).waiting();
    if (waiting >= waiting_told_min)
      out += "; " + load.name + " takes less, it waits for a core " +
             percent(waiting) + " of its time";
  }
  return out;
}

/// Of a full batch.
std::vector<uint64_t> balancer::takes_of(const plan& of) const {
  std::vector<uint64_t> weights;
  for (const share& one : of.shares)
    weights.push_back(one.batch_weight);
  if (std::all_of(weights.begin(), weights.end(),
                  [](uint64_t w) { return w == 0; }))
    std::fill(weights.begin(), weights.end(), 1);
  return whole_takes(policy_.global_batch, weights);
}

split_view balancer::look_at_split() const {
  split_view out;
  out.known = true;
  for (const share& one : plan_->shares) {
    auto found = speeds_.find(one.worker);
    bool known = found != speeds_.end() && found->second.known();
    out.known = out.known && known;
    out.costs.push_back(known ? found->second.cost() : step_cost{});
    if (!known)
      continue;
    out.error = std::max(out.error, found->second.error());
    out.lasting_error =
        std::max(out.lasting_error, found->second.lasting_error());
  }
  out.takes = takes_of(*plan_);
  if (!out.known)
    return out;
  out.best = split_by_cost(policy_.global_batch, out.costs);
  keep_everybody(out);
  double now_s = makespan_s(out.costs, out.takes);
  out.gain = now_s > 0 ? std::max(0.0, 1 - out.best.makespan_s / now_s) : 0;
  return out;
}

/// A worker without a take is never measured again, so every worker keeps a
/// little work, however slow it appears.
void balancer::keep_everybody(split_view& split) const {
  std::vector<uint64_t>& takes = split.best.rows;
  uint64_t least = policy_.global_batch / (policy_.least_part * takes.size());
  least = std::max<uint64_t>(least, policy_.global_batch >= takes.size());
  for (uint64_t& poor : takes)
    while (poor < least) {
      auto rich = std::max_element(takes.begin(), takes.end());
      if (*rich <= least)
        return;
      --*rich;
      ++poor;
    }
  split.best.makespan_s = makespan_s(split.costs, takes);
}

uint64_t balancer::speed_changes() const {
  uint64_t out = 0;
  for (const share& one : plan_->shares)
    if (const speed_estimate* speed = speed_of(one.worker))
      out += speed->changes();
  return out;
}

/// A gain that did not justify a plan does not justify one later while speeds
/// are unchanged; otherwise noise would cross the threshold some time.
double balancer::split_gain_min() const {
  return settled_at_ == speed_changes() ? policy_.split_gain_min_later
                                        : policy_.split_gain_min;
}

double balancer::gain_min() const {
  const bool adrift = std::any_of(
      plan_->shares.begin(), plan_->shares.end(), [this](const share& one) {
        const speed_estimate* speed = speed_of(one.worker);
        return speed != nullptr && speed->adrift();
      });
  return adrift ? policy_.gain_min_adrift : policy_.gain_min;
}

/// Speeds have been stable long enough. Always true for the first change in a
/// long time, which is not an oscillation.
bool balancer::sustained() const {
  bool calm = speed_plans_.empty() ||
              window_ >= speed_plans_.back() + policy_.quiet_windows;
  for (const share& one : plan_->shares) {
    const speed_estimate& speed = speeds_.at(one.worker);
    bool long_enough = speed.steady_windows() >= policy_.sustained_windows;
    if (speed.unsettled())
      return false;
    bool first = calm && speed.steady_windows_before() >= policy_.quiet_windows;
    if (!long_enough && !first)
      return false;
  }
  return true;
}

/// Data follow a change of speed at once; if speeds oscillate, after ever
/// longer waits.
bool balancer::may_follow_speed() const {
  if (turns_.size() <= policy_.turns_free)
    return true;
  uint64_t doublings =
      std::min<uint64_t>(turns_.size() - policy_.turns_free - 1, 6);
  return window_ >= speed_plans_.back() + (uint64_t{1} << doublings);
}

balance_code balancer::decide_weights(const split_view& split,
                                      std::vector<uint64_t>& weights) const {
  if (!split.known)
    return balance_code::stale_report;
  if (const double least = split_gain_min(); split.gain < least)
    return split.gain < least / 2 ? balance_code::at_optimum
                                  : balance_code::below_trigger;
  if (split.gain < policy_.gain_errors * split.error)
    return balance_code::noise_floor;
  if (!sustained())
    return balance_code::not_sustained;
  if (!speed_plans_.empty() &&
      window_ < speed_plans_.back() + policy_.dwell_windows)
    return balance_code::dwell;
  weights = split.best.rows;
  return balance_code::planned;
}

sizes_request balancer::sizes_now(const std::vector<uint64_t>& weights) const {
  sizes_request out;
  out.weights = weights;
  out.batch = policy_.global_batch;
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    const worker_load& load = last_view_.workers.at(rank);
    out.owned.push_back(held_.of_worker(rank));
    out.left.push_back(load.rows_left);
    out.room.push_back(load.store_free_bytes / row_bytes_);
  }
  return out;
}

/// The fraction of this epoch's time that workers would wait once these sizes
/// are reached, if it is large enough to justify moving rows for this epoch
/// alone; else 0.
double balancer::lost_in_time(const sizes_request& request,
                              const std::vector<uint64_t>& sizes) const {
  const uint64_t epoch = last_view_.steps_per_epoch;
  if (epoch < policy_.epoch_steps_min)
    return 0; // no plan would take effect in time
  const double lost = lost_in_this_epoch(request, sizes);
  const double of_the_rest =
      lost * double(epoch) / double(std::max(epoch, last_view_.steps_left));
  const bool worth_it = last_view_.steps_left <= epoch
                            ? lost > policy_.lost_part_max
                            : of_the_rest > policy_.lost_and_back_max;
  return worth_it ? lost : 0;
}

std::vector<uint64_t>
balancer::wanted_sizes(const std::vector<uint64_t>& weights) const {
  sizes_request request = sizes_now(weights);
  std::vector<uint64_t> lasting = lasting_sizes(request);
  return lost_in_time(request, lasting) == 0 ? lasting
                                             : sizes_for_this_epoch(request);
}

} // namespace ballast
