// The part of the balancer that sets priorities (the batch, then sizes and
// skew, then holders of classes).
#include "runtime/balance/balancer.hpp"

#include "runtime/balance/percent.hpp"

#include <algorithm>
#include <utility>

namespace ballast::balance {

namespace {

/// Below this fraction of a worker's time, waiting for a core does not explain
/// slowness.
constexpr double waiting_told_min = 0.1;

/// The known trouble with devices and cores of the workers that get smaller
/// takes.
std::string why_slower(const split_view& split, const load_view& view,
                       const worker_speeds& speeds) {
  std::string out;
  for (size_t rank = 0; rank < split.takes.size(); ++rank) {
    const worker_load& load = view.workers.at(rank);
    if (split.best.rows[rank] >= split.takes[rank])
      continue;
    if (!load.device_trouble.empty())
      out += "; " + load.name + " takes less, its " + load.device_trouble;
    const double waiting = speeds.of(load.worker)->waiting();
    if (waiting >= waiting_told_min)
      out += "; " + load.name + " takes less, it waits for a core " +
             percent(waiting) + " of its time";
  }
  return out;
}

} // namespace

balance_code balancer::decide(const load_view& view, balance_proposal& out) {
  const balance_code otherwise =
      policy_.enabled ? balance_code::stale_report : balance_code::disabled;
  if (!now_.some() || now_.of.number != view.number ||
      view.workers.size() != now_.ranks.size())
    return otherwise;
  const split_view split = this->split();
  state_.row_us.assign(now_.ranks.size(), 0);
  for (size_t rank = 0; rank < now_.ranks.size(); ++rank)
    if (speeds_.is_measured(rank) && split.takes[rank] > 0)
      state_.row_us[rank] = 1e6 * split.costs[rank].seconds(split.takes[rank]) /
                            double(split.takes[rank]);
  state_.copy_bytes_per_s.clear();
  for (worker_id who : now_.ranks)
    state_.copy_bytes_per_s.push_back(copying_.links().into(who).value_or(0));
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
  if (now_.ranks.size() < 2)
    return balance_code::at_optimum;
  const bool moves = policy_.leaves == 0;
  if (!moves && now_.ranks.size() >= policy_.leaves)
    return balance_code::at_optimum; // one leaf each, and spares

  std::vector<uint64_t> weights;
  for (const ledger::share& one : now_.of.shares)
    weights.push_back(one.batch_weight);
  // If speeds never settle, other moves would postpone this for ever.
  bool waited = moves && !now_.lone.empty() &&
                window_ >= alone_since_ + policy_.coverage_windows;
  if (waited &&
      decide_coverage(view, split, weights, out) == balance_code::planned)
    return balance_code::planned;
  const balance_code by_speed = speeds_.judge(split, window_, policy_);
  speeds_.settle(split, policy_);
  if (by_speed == balance_code::planned) {
    // Free and effective at once; ownership follows.
    proposed_ = {.by_speed = true};
    finish(out, split, split.weights,
           "batch split by speed: step " + percent(split.gain) + " shorter" +
               why_slower(split, last_view_, speeds_));
    return by_speed;
  }
  if (!moves)
    return by_speed;
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

split_view balancer::split() const {
  return speeds_.split(takes_of(now_.of, policy_.global_batch, policy_.leaves),
                       policy_);
}

} // namespace ballast::balance
