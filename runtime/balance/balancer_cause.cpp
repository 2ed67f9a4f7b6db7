/// The part of balancer that says why rows should move, and what speaks against
/// looking for moves now.
#include "runtime/balance/balancer.hpp"
#include "runtime/balance/percent.hpp"
#include "runtime/balance/skew.hpp"

#include <algorithm>
#include <cmath>

namespace ballast {

namespace {

/// A rise of the skew by less is not mentioned: it is shown as the same.
constexpr double told_skew_min = 0.0005;

} // namespace

move_cause balancer::find_cause(const split_view& split,
                                const std::vector<uint64_t>& weights) const {
  move_cause out;
  const sizes_request now = sizes_now(weights);
  const std::vector<uint64_t> lasting = lasting_sizes(now);
  out.excess = most_excess(now, lasting);
  if (split.known) {
    // The weights may come from a speed that is over.
    sizes_request measured = now;
    measured.weights = split.best.rows;
    out.excess =
        std::min(out.excess, most_excess(now, lasting_sizes(measured)));
  }
  for (size_t rank = 0; rank < plan_->shares.size(); ++rank)
    if (held_.classes > 1 && skews_[rank] > skew_trigger(rank))
      out.over_budget = std::max(out.over_budget, skews_[rank]);
  out.lost = lost_in_time(now, now.owned);
  out.by_size = out.excess > gain_min() || out.lost > 0;
  return out;
}

/// Why no plan is looked for now, or `planned`.
balance_code balancer::wait_for(const move_cause& cause,
                                const split_view& split) {
  const double error = std::hypot(sizes_error_, split.lasting_error);
  if (!cause.by_size && split.known &&
      policy_.gain_errors * split.lasting_error <= gain_min())
    sizes_error_ = split.lasting_error;
  if (cause.by_size && cause.over_budget == 0 && !rest_.some()) {
    if (!may_follow_speed())
      return balance_code::dwell;
    if (cause.lost == 0 && cause.excess < policy_.gain_errors * error)
      return balance_code::noise_floor;
  }
  if (!cause.by_size && cause.over_budget == 0) {
    rest_ = {};
    const bool met =
        (held_.classes <= 1 || state_.skew_max <= policy_.skew_tv) &&
        cause.excess <= policy_.size_tolerance;
    return met ? balance_code::at_optimum : balance_code::below_trigger;
  }
  if (balance_code wait = wait_for_speeds(split); wait != balance_code::planned)
    return wait;
  return window_ < moves_pause_.until ? moves_pause_.why
                                      : balance_code::planned;
}

std::string balancer::in_words(const move_cause& cause,
                               const aimed_moves& chosen,
                               bool to_measure) const {
  std::string out;
  if (cause.over_budget > 0)
    out = "skew " + percent(cause.over_budget) + " over the budget of " +
          percent(policy_.skew_tv);
  if (cause.by_size)
    out +=
        (out.empty() ? "" : ", ") +
        (cause.excess > gain_min()
             ? "one owns " + percent(cause.excess) + " more than its part"
             : percent(cause.lost) + " of the epoch would be waited for one");
  if (to_measure)
    out += "; first some rows for who has too few to be measured";
  if (const double before = std::max(most_skew(held_), policy_.skew_tv);
      held_.classes > 1 && chosen.skew_max > before + told_skew_min)
    out += "; skew rises to " + percent(chosen.skew_max) +
           ": no plan was found that reaches the sizes with less";
  if (chosen.cut_short)
    out += "; the search was cut short, there may be a better plan";
  return out;
}

} // namespace ballast
