#include "runtime/balance/worker_speeds.hpp"

#include "runtime/balance/median.hpp"
#include "runtime/ledger/step_takes.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace ballast::balance {

namespace {

/// The part of a batch that each worker takes.
std::map<worker_id, double> parts(const ledger::plan& of) {
  double total = 0;
  for (const ledger::share& one : of.shares)
    total += double(one.batch_weight);
  std::map<worker_id, double> out;
  for (const ledger::share& one : of.shares)
    out[one.worker] = total > 0 ? double(one.batch_weight) / total : 0;
  return out;
}

/// A worker without a take is never measured again, so every worker keeps a
/// little work, however slow it appears.
void keep_everybody(split_view& split, const balance_policy& policy) {
  std::vector<uint64_t>& takes = split.best.rows;
  uint64_t least = policy.global_batch / (policy.least_part * takes.size());
  least = std::max<uint64_t>(least, policy.global_batch >= takes.size());
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

/// What a leaf of a step costs as if it were a row.
step_cost of_leaves(const step_cost& of, double leaf_rows) {
  step_cost out = of;
  out.per_row_s *= leaf_rows;
  if (of.micro_batch_rows > 0)
    out.micro_batch_rows = std::max<uint64_t>(
        1, uint64_t(double(of.micro_batch_rows) / leaf_rows));
  return out;
}

/// Leaves are whole, and each worker has one if there are enough.
void split_leaves_by_cost(split_view& split, const balance_policy& policy) {
  std::vector<step_cost> costs;
  for (const step_cost& one : split.costs)
    costs.push_back(
        of_leaves(one, double(policy.global_batch) / policy.leaves));
  split.best = split_by_cost(policy.leaves, costs);
  split.weights = split.best.rows;
  const uint64_t least = split.weights.size() <= policy.leaves;
  for (uint64_t& poor : split.weights)
    if (poor < least) {
      --*std::max_element(split.weights.begin(), split.weights.end());
      ++poor;
    }
  split.best.rows =
      takes_of_leaves(ledger::split_leaves(policy.leaves, split.weights),
                      policy.global_batch, policy.leaves);
  split.best.makespan_s = makespan_s(split.costs, split.best.rows);
}

} // namespace

void worker_speeds::add(const worker_load& measured) {
  speed_estimate& speed = speeds_[measured.worker];
  for (const take_cost& one : measured.costs)
    speed.add(one.rows, double(one.compute_ns) / 1e9,
              double(one.waited_ns) / 1e9);
}

void worker_speeds::end_window(uint64_t window, const balance_policy& policy) {
  for (auto& [who, speed] : speeds_)
    speed.end_window();
  for (std::vector<uint64_t>* some : {&followed_, &turns_})
    std::erase_if(*some, [&](uint64_t when) {
      return when + policy.unrest_windows < window;
    });
}

void worker_speeds::follow(const ledger::plan& before, const ledger::plan& next,
                           uint64_t window) {
  followed_.push_back(window);
  std::map<worker_id, double> trend;
  double along = 0;
  if (!before.shares.empty()) {
    std::map<worker_id, double> was = parts(before);
    for (auto [who, part] : parts(next)) {
      trend[who] = part - was[who];
      along += trend[who] * trend_[who];
    }
  }
  if (along < 0)
    turns_.push_back(window);
  trend_ = std::move(trend);
}

void worker_speeds::new_plan(const plan_view& now,
                             const balance_policy& policy) {
  settled_after_.reset();
  ranks_ = now.ranks;
  const std::set<worker_id> here(ranks_.begin(), ranks_.end());
  std::erase_if(speeds_,
                [&](const auto& one) { return !here.contains(one.first); });
  const std::vector<uint64_t> takes =
      takes_of(now.of, policy.global_batch, policy.leaves);
  for (size_t rank = 0; rank < takes.size(); ++rank)
    speeds_[ranks_[rank]].new_split(takes[rank]);
}

const speed_estimate* worker_speeds::of(worker_id who) const {
  auto found = speeds_.find(who);
  return found == speeds_.end() ? nullptr : &found->second;
}

bool worker_speeds::is_measured(size_t rank) const {
  const speed_estimate* speed = of(ranks_[rank]);
  return speed != nullptr && speed->known();
}

bool worker_speeds::unsettled() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [this](worker_id who) {
    return speeds_.at(who).unsettled();
  });
}

double worker_speeds::error_of_takes() const {
  double out = 0;
  for (worker_id who : ranks_)
    out = std::max(out, speeds_.at(who).error_of_takes());
  return out;
}

bool worker_speeds::are_takes_sure(const balance_policy& policy) const {
  const bool seen =
      std::all_of(ranks_.begin(), ranks_.end(), [this](worker_id who) {
        return speeds_.at(who).takes_of_split() >= speed_estimate::takes_min;
      });
  return seen && policy.first_errors * error_of_takes() <= policy.gain_min;
}

bool worker_speeds::followed_in(uint64_t window) const {
  return !followed_.empty() && window <= followed_.back();
}

bool worker_speeds::may_move_rows(uint64_t window,
                                  const balance_policy& policy) const {
  if (turns_.size() <= policy.turns_free)
    return true;
  uint64_t doublings =
      std::min<uint64_t>(turns_.size() - policy.turns_free - 1, 6);
  return window >= followed_.back() + (uint64_t{1} << doublings);
}

split_view worker_speeds::split(const std::vector<uint64_t>& takes,
                                const balance_policy& policy) const {
  split_view out;
  out.known = true;
  for (worker_id who : ranks_) {
    const speed_estimate* speed = of(who);
    const bool known = speed != nullptr && speed->known();
    out.known = out.known && known;
    out.costs.push_back(known ? speed->cost() : step_cost{});
    if (!known)
      continue;
    out.error = std::max(out.error, speed->error());
    out.lasting_error = std::max(out.lasting_error, speed->lasting_error());
  }
  out.takes = takes;
  if (!out.known)
    return out;
  if (policy.leaves > 0) {
    split_leaves_by_cost(out, policy);
  } else {
    out.best = split_by_cost(policy.global_batch, out.costs);
    keep_everybody(out, policy);
    out.weights = out.best.rows;
  }
  double now_s = makespan_s(out.costs, out.takes);
  out.gain = now_s > 0 ? std::max(0.0, 1 - out.best.makespan_s / now_s) : 0;
  return out;
}

std::vector<uint64_t>
worker_speeds::guessed_split(const split_view& now,
                             uint64_t global_batch) const {
  std::vector<double> row_s;
  for (size_t rank = 0; rank < now.costs.size(); ++rank)
    if (is_measured(rank))
      row_s.push_back(now.costs[rank].per_row_s);
  if (row_s.empty())
    return std::vector<uint64_t>(now.costs.size(), 1);
  std::vector<step_cost> costs = now.costs;
  step_cost usual;
  usual.per_row_s = median(std::move(row_s));
  for (size_t rank = 0; rank < costs.size(); ++rank)
    if (!is_measured(rank))
      costs[rank] = usual;
  return split_by_cost(global_batch, costs).rows;
}

balance_code worker_speeds::judge(const split_view& now, uint64_t window,
                                  const balance_policy& policy) const {
  if (!now.known)
    return balance_code::stale_report;
  if (const double least = split_gain_min(policy); now.gain < least)
    return now.gain < least / 2 ? balance_code::at_optimum
                                : balance_code::below_trigger;
  if (now.gain < policy.gain_errors * now.error)
    return balance_code::noise_floor;
  if (!sustained(window, policy))
    return balance_code::not_sustained;
  if (!followed_.empty() && window < followed_.back() + policy.dwell_windows)
    return balance_code::dwell;
  return balance_code::planned;
}

/// Speeds have been stable long enough. Always true for the first change in a
/// long time, which is not an oscillation.
bool worker_speeds::sustained(uint64_t window,
                              const balance_policy& policy) const {
  const bool calm =
      followed_.empty() || window >= followed_.back() + policy.quiet_windows;
  for (worker_id who : ranks_) {
    const speed_estimate& speed = speeds_.at(who);
    bool long_enough = speed.steady_windows() >= policy.sustained_windows;
    if (speed.unsettled())
      return false;
    bool first = calm && speed.steady_windows_before() >= policy.quiet_windows;
    if (!long_enough && !first)
      return false;
  }
  return true;
}

void worker_speeds::settle(const split_view& now,
                           const balance_policy& policy) {
  if (const double least = gain_min(policy);
      now.known && now.gain < least && policy.gain_errors * now.error <= least)
    settled_after_ = changes();
}

double worker_speeds::split_gain_min(const balance_policy& policy) const {
  return settled_after_ == changes() ? policy.split_gain_min_later
                                     : policy.split_gain_min;
}

double worker_speeds::gain_min(const balance_policy& policy) const {
  const bool adrift =
      std::any_of(ranks_.begin(), ranks_.end(), [this](worker_id who) {
        const speed_estimate* speed = of(who);
        return speed != nullptr && speed->adrift();
      });
  return adrift ? policy.gain_min_adrift : policy.gain_min;
}

uint64_t worker_speeds::changes() const {
  uint64_t out = 0;
  for (worker_id who : ranks_)
    if (const speed_estimate* speed = of(who))
      out += speed->changes();
  return out;
}

} // namespace ballast::balance
