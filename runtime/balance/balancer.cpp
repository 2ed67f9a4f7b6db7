#include "runtime/balance/balancer.hpp"

#include "runtime/balance/median.hpp"
#include "runtime/placement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numbers>
#include <set>

namespace ballast {

namespace {

constexpr size_t calm_steps_max = 64;
/// So many steps with and without a transfer are compared, at least.
constexpr size_t compared_steps_min = 8;
/// Weights follow the rows owned, so that all end their epoch together, where
/// that makes the step longer by no more than this part.
constexpr double owned_weights_cost = 0.02;

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * part);
  return text;
}

std::vector<uint64_t> in_proportion(uint64_t total,
                                    const std::vector<uint64_t>& weights) {
  return split_by_shares(total, {weights.begin(), weights.end()});
}

/// Total variation distance that a random share of so many rows has by chance.
double skew_noise_floor(const std::vector<uint64_t>& of_class, uint64_t rows) {
  double total = 0;
  for (uint64_t count : of_class)
    total += double(count);
  double sum = 0;
  for (uint64_t count : of_class) {
    double p = total > 0 ? double(count) / total : 0;
    sum += std::sqrt(p * (1 - p));
  }
  return rows == 0 ? 0 : sum / std::sqrt(2 * std::numbers::pi * double(rows));
}

} // namespace

balancer::balancer(balance_policy policy, std::shared_ptr<const manifest> set)
    : policy_(policy), set_(std::move(set)),
      rate_bytes_per_s_(policy.rate_bytes_per_s) {
  uint64_t bytes = 0;
  uint64_t rows = 0;
  for (const chunk_info& one : set_->train) {
    bytes += one.bytes;
    rows += one.rows;
  }
  row_bytes_ = std::max<uint64_t>(1, bytes / std::max<uint64_t>(1, rows));
}

const speed_estimate* balancer::speed_of(worker_id who) const {
  auto found = speeds_.find(who);
  return found == speeds_.end() ? nullptr : &found->second;
}

std::optional<uint64_t> balancer::windows_since_move(chunk_id id) const {
  auto found = moved_.find(id);
  if (found == moved_.end())
    return std::nullopt;
  return window_ - found->second;
}

// -- observation
// ----------------------------------------------------------------

balance_answer balancer::observe(const load_view& view) {
  balance_answer out;
  take_in(view);
  last_view_ = view;
  for (worker_load& one : last_view_.workers)
    one.costs.clear();
  last_view_.changed = {};
  state_.code = decide(view, out.proposal);
  if (state_.code == balance_code::planned) {
    moving_.clear();
    for (const shard_move& one : out.proposal.moves)
      moving_.push_back(one.what.chunk);
  }
  out.state = state_;
  return out;
}

void balancer::take_in(const load_view& view) {
  if (view.last == transfer_end::effective) {
    for (chunk_id id : moving_)
      moved_[id] = window_;
    if (weighing_)
      speed_plans_.push_back(window_);
    failures_ = 0;
  } else if (view.last == transfer_end::failed &&
             ++failures_ >= policy_.failures_max) {
    stalled_until_ = window_ + policy_.stalled_windows;
    failures_ = 0;
  }
  if (view.last != transfer_end::none) {
    adapt_rate();
    moving_.clear();
    weighing_ = false;
  }
  if (!view.changed.shares.empty())
    new_plan(view.changed);
  for (const worker_load& worker : view.workers) {
    speed_estimate& speed = speeds_[worker.worker];
    for (const take_cost& one : worker.costs)
      speed.add(one.rows, double(one.compute_ns) / 1e9);
  }
  std::vector<uint64_t>& steps = view.transfer ? moving_us_ : calm_us_;
  steps.insert(steps.end(), view.step_us.begin(), view.step_us.end());
  if (steps.size() > calm_steps_max)
    steps.erase(steps.begin(), steps.end() - ptrdiff_t(calm_steps_max));
  end_windows(view);
}

void balancer::new_plan(const plan& changed) {
  plan_ = changed;
  held_ = count_labels(*set_, changed);
  skews_ = skews(held_);
  std::vector<uint64_t> of_class;
  for (size_t label = 0; label < held_.classes; ++label)
    of_class.push_back(held_.of_class(label));
  noise_floors_.clear();
  for (size_t rank = 0; rank < held_.workers; ++rank)
    noise_floors_.push_back(skew_noise_floor(of_class, held_.of_worker(rank)));
  state_.skew_max =
      skews_.empty() ? 0 : *std::max_element(skews_.begin(), skews_.end());
  calm_us_.clear(); // another split has other steps
  std::set<worker_id> here;
  for (const share& one : changed.shares)
    here.insert(one.worker);
  std::erase_if(speeds_,
                [&](const auto& one) { return !here.contains(one.first); });
}

void balancer::end_windows(const load_view& view) {
  window_steps_ += view.step_us.size();
  if (window_begin_ms_ == 0)
    window_begin_ms_ = view.now_ms;
  if (view.now_ms < window_begin_ms_ + policy_.window_ms ||
      window_steps_ < policy_.window_steps)
    return;
  window_begin_ms_ = view.now_ms;
  window_steps_ = 0;
  state_.window = ++window_;
  for (auto& [who, speed] : speeds_)
    speed.end_window();
  std::erase_if(speed_plans_, [&](uint64_t when) {
    return when + policy_.unrest_windows < window_;
  });
  std::erase_if(moved_, [&](const auto& one) {
    return one.second + policy_.dwell_windows < window_;
  });
}

/// Additive increase, multiplicative decrease, by what the steps say.
void balancer::adapt_rate() {
  bool comparable = calm_us_.size() >= compared_steps_min &&
                    moving_us_.size() >= compared_steps_min;
  if (comparable && double(median(moving_us_)) >
                        policy_.inflation_max * double(median(calm_us_)))
    rate_bytes_per_s_ =
        std::max(policy_.rate_min_bytes_per_s, rate_bytes_per_s_ / 2);
  else if (!moving_.empty())
    rate_bytes_per_s_ =
        std::min(policy_.rate_max_bytes_per_s,
                 rate_bytes_per_s_ + policy_.rate_more_bytes_per_s);
  moving_us_.clear();
}

// -- decisions
// ------------------------------------------------------------------

balance_code balancer::decide(const load_view& view, balance_proposal& out) {
  if (!policy_.enabled)
    return balance_code::disabled;
  if (!plan_ || plan_->number != view.number ||
      view.workers.size() != plan_->shares.size())
    return balance_code::stale_report;
  split_view split = look_at_split();
  state_.row_us.assign(plan_->shares.size(), 0);
  for (size_t rank = 0; rank < plan_->shares.size(); ++rank) {
    const speed_estimate& speed = speeds_[plan_->shares[rank].worker];
    if (speed.known() && split.takes[rank] > 0)
      state_.row_us[rank] = 1e6 * speed.cost().seconds(split.takes[rank]) /
                            double(split.takes[rank]);
  }
  state_.makespan_ratio = split.known ? 1 / (1 - split.gain) : 1;
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
  balance_code by_speed = decide_weights(split, weights);
  if (by_speed == balance_code::planned) {
    // Costs nothing, helps at once; what is owned follows.
    weighing_ = true;
    finish(out, split, weights,
           "batch split by speed: step " + percent(split.gain) + " shorter");
    return by_speed;
  }
  balance_code by_data = decide_moves(view, split, weights, out);
  if (by_data == balance_code::at_optimum)
    return by_speed;
  return by_data;
}

balancer::split_view balancer::look_at_split() const {
  split_view out;
  std::vector<uint64_t> weights;
  out.known = true;
  for (const share& one : plan_->shares) {
    weights.push_back(one.batch_weight);
    auto found = speeds_.find(one.worker);
    bool known = found != speeds_.end() && found->second.known();
    out.known = out.known && known;
    out.costs.push_back(known ? found->second.cost() : step_cost{});
    if (known)
      out.error = std::max(out.error, found->second.error());
  }
  if (std::all_of(weights.begin(), weights.end(),
                  [](uint64_t w) { return w == 0; }))
    std::fill(weights.begin(), weights.end(), 1);
  out.takes = in_proportion(policy_.global_batch, weights);
  if (!out.known)
    return out;
  out.best = split_by_cost(policy_.global_batch, out.costs);
  keep_everybody(out);
  double now_s = makespan_s(out.costs, out.takes);
  out.gain = now_s > 0 ? std::max(0.0, 1 - out.best.makespan_s / now_s) : 0;
  return out;
}

/// Who takes nothing is never measured again: a worker keeps a little work,
/// however slow it seems.
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

/// Speeds are what they are for long enough: always so for the first change in
/// a long time, which is no flicker.
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

/// Data follow the first changes of speed at once, more of them with more and
/// more patience.
bool balancer::may_follow_speed() const {
  if (speed_plans_.size() <= policy_.changes_free)
    return true;
  uint64_t doublings =
      std::min<uint64_t>(speed_plans_.size() - policy_.changes_free - 1, 6);
  return window_ >= speed_plans_.back() + (uint64_t{1} << doublings);
}

balance_code balancer::decide_weights(const split_view& split,
                                      std::vector<uint64_t>& weights) const {
  if (!split.known)
    return balance_code::stale_report;
  if (split.gain < policy_.gain_min)
    return split.gain < policy_.gain_min / 2 ? balance_code::at_optimum
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
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    const worker_load& load = last_view_.workers.at(rank);
    out.owned.push_back(held_.of_worker(rank));
    out.left.push_back(load.rows_left);
    out.room.push_back(load.store_free_bytes / row_bytes_);
  }
  return out;
}

std::vector<uint64_t>
balancer::wanted_sizes(const std::vector<uint64_t>& weights) const {
  sizes_request request = sizes_now(weights);
  std::vector<uint64_t> lasting = lasting_sizes(request);
  return lost_in_this_epoch(request, lasting) < policy_.lost_part_max
             ? lasting
             : sizes_for_this_epoch(request);
}

/// Pieces are no fractions: every class of a worker ends about a quarter of a
/// chunk off its quota, and what is off adds to the skew.
double balancer::aimed_skew() const {
  uint64_t smallest = UINT64_MAX;
  for (size_t rank = 0; rank < plan_->shares.size(); ++rank)
    if (held_.of_worker(rank) > 0)
      smallest = std::min(smallest, held_.of_worker(rank));
  double chunk =
      double(held_.total()) / double(std::max<size_t>(1, set_->train.size()));
  double rounding = double(held_.classes) * chunk / 4 / double(smallest);
  return std::max(policy_.skew_target_min * policy_.skew_tv,
                  policy_.skew_tv - rounding);
}

balance_code balancer::decide_moves(const load_view& view,
                                    const split_view& split,
                                    const std::vector<uint64_t>& weights,
                                    balance_proposal& out) {
  size_t world = plan_->shares.size();
  sizes_request now = sizes_now(weights);
  std::vector<uint64_t> lasting = lasting_sizes(now);
  // Who owns more than its part comes late to the end of every epoch; who has
  // more left than its part, to the end of this one.
  double excess = 0;
  double over_budget = 0;
  std::vector<uint64_t> room;
  for (size_t rank = 0; rank < world; ++rank) {
    room.push_back(view.workers[rank].store_free_bytes);
    if (lasting[rank] > 0)
      excess =
          std::max(excess, double(now.owned[rank]) / double(lasting[rank]) - 1);
    double trigger =
        std::max((more_to_come_ ? 1 : policy_.skew_trigger) * policy_.skew_tv,
                 policy_.skew_floors * noise_floors_[rank]);
    if (held_.classes > 1 && skews_[rank] > trigger)
      over_budget = std::max(over_budget, skews_[rank]);
  }
  double lost = lost_in_this_epoch(now, now.owned);
  bool by_size = excess > policy_.gain_min || lost > policy_.lost_part_max;
  if (by_size && over_budget == 0 && !more_to_come_ && !may_follow_speed())
    return balance_code::dwell;
  bool wanted = by_size || over_budget > 0;
  more_to_come_ = more_to_come_ && wanted;
  if (!wanted)
    return balance_code::at_optimum;
  quota_request request{held_, wanted_sizes(weights), policy_.skew_tv, 2};
  uint64_t bound = moves_bound(request);
  request.skew_tv = aimed_skew();
  quota target = best_quota(request);
  if (target.moved == 0)
    return balance_code::at_optimum;

  uint64_t round_bytes = rate_bytes_per_s_ * policy_.round_ms / 1000;
  move_list list = choose_moves(
      {.set = set_.get(),
       .current = &*plan_,
       .target = target.target,
       .locked = [this](chunk_id id) { return moved_.contains(id); },
       .bytes_max = round_bytes,
       .room_bytes = std::move(room),
       .size_tolerance = policy_.size_tolerance});
  if (list.moves.empty())
    return moved_.empty() ? balance_code::at_optimum : balance_code::dwell;
  // A step's part of the copying is felt at most this much.
  double step_s = split.known ? makespan_s(split.costs, split.takes) : 0;
  double copying_s = double(list.bytes) / double(rate_bytes_per_s_);
  double cost_s = (policy_.inflation_max - 1) * copying_s;
  double gain_s = by_size ? step_s * std::min(excess, 1.0) : step_s;
  if (step_s > 0 && gain_s * double(view.steps_left) < policy_.payback * cost_s)
    return balance_code::payback;

  out.moves = std::move(list.moves);
  out.moved_rows = list.rows;
  out.moved_bytes = list.bytes;
  out.bound_rows = bound;
  out.by_skew = over_budget > 0;

  std::string why;
  if (over_budget > 0)
    why = "skew " + percent(over_budget) + " over the budget of " +
          percent(policy_.skew_tv);
  if (by_size)
    why += (why.empty() ? "" : ", ") +
           (excess > policy_.gain_min
                ? "one owns " + percent(excess) + " more than its part"
                : percent(lost) + " of the epoch would be waited for one");
  more_to_come_ = list.cut_short;
  finish(out, split, weights, why);
  return balance_code::planned;
}

void balancer::finish(balance_proposal& out, const split_view& split,
                      std::vector<uint64_t> weights, std::string reason) {
  plan after = moved_plan(*plan_, out.moves, next(plan_->number), weights);
  std::vector<uint64_t> owned;
  for (const share& one : after.shares)
    owned.push_back(rows(one));
  if (split.known) {
    double by_owned_s =
        makespan_s(split.costs, in_proportion(policy_.global_batch, owned));
    if (by_owned_s <= (1 + owned_weights_cost) * split.best.makespan_s)
      weights = owned;
  } else if (!out.moves.empty()) {
    weights = owned;
  }
  label_counts held = count_labels(*set_, after);
  std::vector<double> skewed = skews(held);
  for (size_t rank = 0; rank < after.shares.size(); ++rank)
    out.after.push_back({after.shares[rank].worker, owned[rank], skewed[rank]});
  out.generation = plan_->generation;
  out.base = plan_->number;
  out.weights = std::move(weights);
  out.rate_bytes_per_s = rate_bytes_per_s_;
  out.reason = std::move(reason);
}

} // namespace ballast
