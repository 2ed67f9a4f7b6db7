// The half of the balancer that decides: on the batch, on sizes and skew, on
// holders of classes, in this order.
#include "runtime/balance/balancer.hpp"

#include "runtime/balance/fewest_moves.hpp"
#include "runtime/placement.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace ballast {

namespace {

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
  // Where speeds never come to rest, there is always something else to do.
  bool waited =
      !lone_.empty() && window_ >= alone_since_ + policy_.coverage_windows;
  if (waited &&
      decide_coverage(view, split, weights, out) == balance_code::planned)
    return balance_code::planned;
  balance_code by_speed = decide_weights(split, weights);
  if (by_speed == balance_code::planned) {
    // Costs nothing, helps at once; what is owned follows.
    weighing_ = true;
    finish(out, split, weights,
           "batch split by speed: step " + percent(split.gain) + " shorter" +
               why_slower(split));
    return by_speed;
  }
  balance_code by_data = decide_moves(view, split, weights, out);
  if (by_data == balance_code::planned || (more_is_due_ && !waited))
    return by_data;
  balance_code by_holders = decide_coverage(view, split, weights, out);
  if (by_holders == balance_code::planned)
    return by_holders;
  // Whatever keeps the first of them from being done.
  for (balance_code code : {by_data, by_holders})
    if (code != balance_code::at_optimum)
      return code;
  return by_speed;
}

/// Of those who are to take less: what is known of their devices.
std::string balancer::why_slower(const split_view& split) const {
  std::string out;
  for (size_t rank = 0; rank < split.takes.size(); ++rank) {
    const worker_load& load = last_view_.workers.at(rank);
    if (split.best.rows[rank] < split.takes[rank] && !load.trouble.empty())
      out += "; " + load.name + " takes less, its " + load.trouble;
  }
  return out;
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
    if (!known)
      continue;
    out.error = std::max(out.error, found->second.error());
    out.lasting_error =
        std::max(out.lasting_error, found->second.lasting_error());
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
  out.batch = policy_.global_batch;
  for (size_t rank = 0; rank < weights.size(); ++rank) {
    const worker_load& load = last_view_.workers.at(rank);
    out.owned.push_back(held_.of_worker(rank));
    out.left.push_back(load.rows_left);
    out.room.push_back(load.store_free_bytes / row_bytes_);
  }
  return out;
}

/// Part of this epoch's time that would be waited away once these sizes are
/// reached, where that is worth rows that move for this epoch alone; else 0.
double balancer::lost_in_time(const sizes_request& request,
                              const std::vector<uint64_t>& sizes) const {
  const uint64_t epoch = last_view_.steps_per_epoch;
  if (epoch < policy_.epoch_steps_min)
    return 0; // no plan would come in time
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

/// Data move once it is known how much each should own, and not for what is
/// gone a moment later: that would move rows twice. The batch is split at once,
/// so patience costs little.
balance_code balancer::wait_for_speeds(const split_view& split) const {
  if (!split.known)
    return window_ < plan_window_ + policy_.unmeasured_windows
               ? balance_code::stale_report
               : balance_code::planned;
  for (const share& one : plan_->shares)
    if (speeds_.at(one.worker).unsettled())
      return balance_code::not_sustained;
  // A split that has just changed is measured anew first.
  return speed_plans_.empty() || window_ > speed_plans_.back()
             ? balance_code::planned
             : balance_code::not_sustained;
}

balance_code balancer::decide_moves(const load_view& view,
                                    const split_view& split,
                                    std::vector<uint64_t> weights,
                                    balance_proposal& out) {
  size_t world = plan_->shares.size();
  sizes_request now = sizes_now(weights);
  std::vector<uint64_t> lasting = lasting_sizes(now);
  // Who owns more than its part comes late to the end of every epoch; who has
  // more left than its part, to the end of this one.
  double excess = most_excess(now, lasting);
  if (split.known) {
    // Weights may be those of a moment that is over.
    sizes_request measured = now;
    measured.weights = split.best.rows;
    excess = std::min(excess, most_excess(now, lasting_sizes(measured)));
  }
  double over_budget = 0;
  for (size_t rank = 0; rank < world; ++rank) {
    double trigger =
        std::max((more_to_come_ ? 1 : policy_.skew_trigger) * policy_.skew_tv,
                 policy_.skew_floors * noise_floors_[rank]);
    if (held_.classes > 1 && skews_[rank] > trigger)
      over_budget = std::max(over_budget, skews_[rank]);
  }
  double lost = lost_in_time(now, now.owned);
  bool by_size = excess > policy_.gain_min || lost > 0;
  if (by_size && over_budget == 0 && !more_to_come_) {
    if (!may_follow_speed())
      return balance_code::dwell;
    if (lost == 0 && excess < policy_.gain_errors * split.lasting_error)
      return balance_code::noise_floor;
  }
  bool wanted = by_size || over_budget > 0;
  more_to_come_ = more_to_come_ && wanted;
  more_is_due_ = wanted;
  if (!wanted)
    return balance_code::at_optimum;
  if (balance_code wait = wait_for_speeds(split); wait != balance_code::planned)
    return wait;
  if (window_ < search_again_)
    return found_nothing_;
  // More is known by now than when the batch was split; rows move once.
  if (split.known && split.gain > split.error)
    weights = split.best.rows;
  quota_request request{held_, wanted_sizes(weights), policy_.skew_tv, 2};
  aimed_moves chosen = fewest_moves(request, how_to_move(view));
  if (chosen.target_moved == 0)
    return search_later(balance_code::at_optimum);
  move_list& list = chosen.list;
  cut_to_round(list);
  if (list.moves.empty())
    return search_later(nothing_moves(list));
  if (moves_again(list))
    return search_later(balance_code::dwell);
  // A step's part of the copying is felt at most this much.
  double step_s = split.known ? makespan_s(split.costs, split.takes) : 0;
  double cost_s = (policy_.inflation_max - 1) * copying_s(list.moves);
  double part = over_budget > 0 ? 1 : std::min(excess, 1.0);
  double gain_s = step_s * (part * double(view.steps_left) +
                            lost * double(view.steps_per_epoch));
  if (step_s > 0 && gain_s < policy_.payback * cost_s)
    return search_later(balance_code::payback);

  out.moves = std::move(list.moves);
  out.moved_rows = list.rows;
  out.moved_bytes = list.bytes;
  out.bound_rows = moves_bound(request);
  out.cause = over_budget > 0 ? balance_cause::skew : balance_cause::size;

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

balance_code balancer::search_later(balance_code why) {
  found_nothing_ = why;
  if (why == balance_code::dwell) // over soon
    search_patience_ = 1;
  search_again_ = window_ + search_patience_;
  search_patience_ = std::min(2 * search_patience_, policy_.search_windows_max);
  return why;
}

balance_code balancer::nothing_moves(const move_list& list) const {
  if (list.no_room)
    return balance_code::no_room;
  return moved_.empty() ? balance_code::at_optimum : balance_code::dwell;
}

move_request balancer::how_to_move(const load_view& view) const {
  std::vector<uint64_t> room;
  for (const worker_load& one : view.workers)
    room.push_back(one.store_free_bytes);
  return {.set = set_.get(),
          .current = &*plan_,
          .target = {},
          .locked = {},
          // A chunk can always go, however low the rate has fallen.
          .bytes_max = std::max(rate_bytes_per_s_ * policy_.round_ms / 1000,
                                chunk_bytes_max_),
          .room_bytes = std::move(room),
          .skew_max = policy_.skew_tv,
          .size_tolerance = policy_.size_tolerance};
}

/// The first of the moves: what takes one round to copy over these links.
void balancer::cut_to_round(move_list& list) const {
  cut_off(list, fit_in_travel(list.moves, double(policy_.round_ms) / 1e3,
                              ranks(), links_));
}

/// Something that has just moved would move on, and this is no part of the
/// same: then what is measured now may be over soon, too.
bool balancer::moves_again(const move_list& list) const {
  return !more_to_come_ && std::any_of(list.moves.begin(), list.moves.end(),
                                       [this](const shard_move& one) {
                                         return moved_.contains(one.what.chunk);
                                       });
}

std::vector<worker_id> balancer::ranks() const {
  std::vector<worker_id> out;
  for (const share& one : plan_->shares)
    out.push_back(one.worker);
  return out;
}

double balancer::copying_s(const std::vector<shard_move>& moves) const {
  double bytes = 0;
  for (const shard_move& one : moves)
    bytes += double(one.bytes);
  return std::max(bytes / double(rate_bytes_per_s_),
                  travel_s(moves, ranks(), links_));
}

/// Costs a row of each such class and asks for no patience: what it guards
/// against comes without a warning.
balance_code balancer::decide_coverage(const load_view& view,
                                       const split_view& split,
                                       const std::vector<uint64_t>& weights,
                                       balance_proposal& out) {
  const std::vector<lone_class>& alone = lone_;
  if (alone.empty())
    return balance_code::at_optimum;
  quota target = best_quota(coverage_request(held_, policy_.skew_tv));
  move_request how = how_to_move(view);
  how.target = target.target;
  how.cover = true;
  how.skew_max = 1; // a row of each
  how.locked = [this](chunk_id id) { return moved_.contains(id); };
  move_list list = choose_moves(how);
  cut_to_round(list);
  if (list.moves.empty())
    return nothing_moves(list);
  plan after = moved_plan(*plan_, list.moves, next(plan_->number), weights);
  size_t left = lone_classes(*set_, after).size();
  if (left >= alone.size())
    return list.no_room ? balance_code::no_room : balance_code::at_optimum;
  double left_s =
      makespan_s(split.costs, split.takes) * double(view.steps_left);
  if (split.known && left_s < copying_s(list.moves))
    return balance_code::payback;
  out.moves = std::move(list.moves);
  out.moved_rows = list.rows;
  out.moved_bytes = list.bytes;
  out.bound_rows = alone.size() - left; // a row for each
  out.cause = balance_cause::coverage;
  std::string who = last_view_.workers.at(alone[0].rank).name;
  finish(out, split, weights,
         alone.size() == 1
             ? "class " + std::to_string(alone[0].label) + " is held by " +
                   who + " alone"
             : std::to_string(alone.size()) +
                   " classes are held by one worker alone, class " +
                   std::to_string(alone[0].label) + " by " + who);
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
