#include "runtime/balance/weighed.hpp"

#include "runtime/balance/percent.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ballast::balance {

namespace {

using json = nlohmann::ordered_json;

std::string count_of_rows(uint64_t rows) {
  return std::to_string(rows) + (rows == 1 ? " row" : " rows");
}

std::string seconds(double s) {
  char text[32];
  std::snprintf(text, sizeof text, s < 10 ? "%.1f s" : "%.0f s", s);
  return text;
}

std::string unmeasured(const balancer& of) {
  std::string out;
  for (size_t rank = 0; rank < of.last_view().workers.size(); ++rank)
    if (!of.speeds().is_measured(rank))
      out += (out.empty() ? "" : ", ") + worker_name(of, rank);
  return out;
}

/// By more than the rounding of a sum.
bool is_over_budget(const balancer& of) {
  constexpr double rounding = 1e-9;
  return of.state().skew_max > of.policy().skew_tv + rounding;
}

/// The lowest skew at which rows of any worker move.
double least_trigger(const balancer& of) {
  double out = 1;
  for (size_t rank = 0; rank < of.now().skew.size(); ++rank)
    out = std::min(out, of.skew_trigger(rank));
  return out;
}

/// The largest excess of a worker over its size, by the weights in force or by
/// measured speeds, whichever is less: rows move for both only.
double size_excess(const balancer& of) {
  sizes_request owned;
  std::vector<uint64_t> weights;
  for (size_t rank = 0; rank < of.now().held.workers; ++rank) {
    owned.owned.push_back(of.now().held.of_worker(rank));
    weights.push_back(of.now().of.shares[rank].batch_weight);
  }
  if (of.last_view().workers.size() != weights.size())
    return 0;
  double out = most_excess(owned, of.wanted_sizes(weights));
  if (const split_view split = of.split(); split.known)
    out = std::min(out, most_excess(owned, of.wanted_sizes(split.best.rows)));
  return out;
}

json asked(const balancer& of, const split_view& split,
           const weighed_plan& what) {
  const balance_policy& policy = of.policy();
  json out = json::array();
  const std::vector<double>& skews = of.now().skew;
  if (of.now().held.classes > 1) {
    const auto worst = std::max_element(skews.begin(), skews.end());
    const auto rank = size_t(worst - skews.begin());
    out.push_back("labels: " + worker_name(of, rank) +
                  " is the furthest from the whole set, by " + percent(*worst) +
                  "; the budget is " + percent(policy.skew_tv) +
                  ", and its rows move for it from " +
                  percent(of.skew_trigger(rank)) + " on");
  }
  if (split.known)
    out.push_back("batch: another split would shorten the step by " +
                  percent(split.gain) + "; what was measured is uncertain by " +
                  percent(split.error));
  else
    out.push_back("batch: not measured yet: " + unmeasured(of));
  size_t worst = 0;
  double most = 0;
  for (size_t rank = 0; rank < what.sizes.size(); ++rank) {
    const auto wanted = double(what.sizes[rank]);
    const auto owned = double(of.now().held.of_worker(rank));
    const double off = owned - wanted;
    if (off > most) {
      most = off;
      worst = rank;
    }
  }
  if (most > 0)
    out.push_back("sizes: " + worker_name(of, worst) + " owns " +
                  count_of_rows(of.now().held.of_worker(worst)) +
                  (split.known ? ", its speed asks for "
                               : ", its part of the batch asks for ") +
                  std::to_string(what.sizes[worst]));
  else
    out.push_back("sizes: everybody owns what is asked for");
  if (!of.now().lone.empty())
    out.push_back("holders: classes that one worker alone holds: " +
                  std::to_string(of.now().lone.size()));
  return out;
}

/// The next stricter budget and the next wider one.
std::vector<const budget_price*>
neighbours(const std::vector<budget_price>& budgets, double skew_tv) {
  std::vector<const budget_price*> out;
  for (const budget_price& one : budgets) {
    if (one.skew_tv < skew_tv)
      out.assign(1, &one);
    else if (one.skew_tv > skew_tv) {
      out.push_back(&one);
      break;
    }
  }
  return out;
}

json prices(const balancer& of, const weighed_plan& what) {
  json out = json::array();
  if (what.moved_rows > 0)
    out.push_back("all of it at once: " + count_of_rows(what.moved_rows) +
                  ", copied in " + seconds(what.takes_s) +
                  "; no plan that leads as far moves fewer than " +
                  std::to_string(what.bound_rows));
  else
    out.push_back(of.state().code == balance_code::limited
                      ? "no move brings the data nearer to what is asked for"
                      : "nothing has to move");
  out.push_back("the same sizes alone, whatever the labels: " +
                count_of_rows(what.sizes_only_rows) + " at least");
  if (of.now().held.classes > 1)
    for (const budget_price* one :
         neighbours(what.budgets, of.policy().skew_tv))
      out.push_back("with a skew budget of " + percent(one->skew_tv) + ": " +
                    count_of_rows(one->moved_rows) + " at least");
  out.push_back("all rows dealt anew: " + count_of_rows(what.anew_rows));
  return out;
}

/// Below the budget no further move was requested: states the cost of more.
std::string why_not_more(const balancer& of, const weighed_plan& what) {
  const balance_policy& policy = of.policy();
  if (what.moved_rows == 0 && is_over_budget(of))
    return of.state().code == balance_code::below_trigger
               ? sentence(of)
               : "nothing that can move helps";
  if (of.now().held.classes <= 1)
    return "a size within " + percent(policy.size_tolerance) +
           " is good enough: nearer costs rows and saves no time";
  std::string out = "labels within the budget are good enough";
  const auto stricter = neighbours(what.budgets, policy.skew_tv);
  if (!stricter.empty() && stricter.front()->skew_tv < policy.skew_tv &&
      stricter.front()->moved_rows > what.bound_rows)
    out += ": " + percent(stricter.front()->skew_tv) + " would cost " +
           count_of_rows(stricter.front()->moved_rows - what.bound_rows) +
           " more at least";
  return out;
}

} // namespace

std::string worker_name(const balancer& of, size_t rank) {
  const auto& workers = of.last_view().workers;
  return rank < workers.size() ? workers[rank].name : std::to_string(rank);
}

std::string sentence(const balancer& of) {
  const balance_policy& policy = of.policy();
  switch (of.state().code) {
  case balance_code::planned:
    return "a plan was proposed just now";
  case balance_code::at_optimum:
    if (const double off = size_excess(of); off > 0)
      return "nothing is worth a move: one owns " + percent(off) +
             " more than its part, and up to " +
             percent(policy.size_tolerance) + " is good enough";
    return "nothing can be made better";
  case balance_code::below_trigger:
    if (is_over_budget(of))
      return "skew " + percent(of.state().skew_max) +
             " is over the budget of " + percent(policy.skew_tv) +
             ", but rows move from " + percent(least_trigger(of)) +
             " on: less is chance in shares of this size, or too little for a "
             "plan";
    if (const double off = size_excess(of); off > policy.size_tolerance)
      return "one owns " + percent(off) +
             " more than its part, but rows move from " +
             percent(of.speeds().gain_min(policy)) + " on";
    return "a better split would shorten the step by less than " +
           std::to_string(int(100 * of.speeds().split_gain_min(policy))) + " %";
  case balance_code::not_sustained:
    return "speeds are not sure yet: they changed a moment ago, or again and "
           "again, or spread widely";
  case balance_code::noise_floor:
    return "what is seen is within the noise of what was measured";
  case balance_code::stale_report:
    return "not every worker is measured yet under the plan in force";
  case balance_code::pending:
    return "a plan, a pause or a stop is under way";
  case balance_code::dwell:
    return "what would have to move was moved less than " +
           std::to_string(policy.dwell_windows) + " windows ago";
  case balance_code::payback:
    return "the rest of the run is too short to win back what a move costs";
  case balance_code::epoch_end:
    return "the epoch ends too soon";
  case balance_code::stalled:
    return "plans failed again and again; waits before the next one";
  case balance_code::limited:
    if (of.was_cut_short())
      return "a search that was cut short found no move; the set is too large "
             "for a complete one";
    if (of.set().chunks->whole_chunks)
      return "chunks hold whole groups and are not cut: with these, no move "
             "brings skew (" +
             percent(of.state().skew_max) + ", budget " +
             percent(policy.skew_tv) + ") or sizes nearer";
    return "skew " + percent(of.state().skew_max) +
           " stays over the budget of " + percent(policy.skew_tv) +
           ": limited by whole rows, and by chunks of " +
           std::to_string(of.set().chunk_rows_max) +
           " rows, a part of which has the labels of all of it";
  case balance_code::no_room:
    return "those who should get something have no memory left for it";
  case balance_code::disabled:
    return "balancing is switched off";
  case balance_code::undecided:
    return "not looked at yet with the present settings";
  }
  return "";
}

std::string would_change(const balancer& of) {
  const balance_policy& policy = of.policy();
  const std::string gain =
      percent(std::max(of.speeds().split_gain_min(policy),
                       policy.gain_errors * of.state().split_error));
  switch (of.state().code) {
  case balance_code::planned:
  case balance_code::pending:
    return "the end of what is under way: everything is looked at anew then";
  case balance_code::at_optimum:
  case balance_code::below_trigger:
  case balance_code::noise_floor:
    return "a split of the batch that wins " + gain + ", somebody who owns " +
           percent(of.speeds().gain_min(policy)) +
           " more rows than its part for sure, or a skew of " +
           percent(least_trigger(of));
  case balance_code::not_sustained:
    return "speeds that stay as they are for " +
           std::to_string(policy.sustained_windows) + " windows of " +
           std::to_string(policy.window_ms) + " ms";
  case balance_code::stale_report:
    return "three steps of everybody, or " +
           std::to_string(policy.unmeasured_windows) + " windows without";
  case balance_code::dwell:
    return "time: " + std::to_string(policy.dwell_windows) +
           " windows after rows moved or the batch was split, longer where "
           "speeds went back and forth";
  case balance_code::payback:
    return "more steps to come, faster links, or a larger gain: what a move "
           "costs has to be won back " +
           std::to_string(int(policy.payback)) + " times";
  case balance_code::epoch_end:
    return "the next epoch";
  case balance_code::stalled:
    return "time: it is tried again by itself";
  case balance_code::limited:
    return of.set().chunks->whole_chunks
               ? "smaller groups, a larger budget, or other workers"
               : "a larger budget, other workers, or a smaller chunk_rows in "
                 "the next run";
  case balance_code::no_room:
    return "more memory for those who should get something";
  case balance_code::disabled:
    return "`ballast ctl set_balance enabled=true`";
  case balance_code::undecided:
    return "the next look, a moment from now";
  }
  return "";
}

json in_words(const balancer& of, const split_view& split,
              const weighed_plan& what) {
  return {{"asked", asked(of, split, what)},
          {"prices", prices(of, what)},
          {"why_not_more", why_not_more(of, what)},
          {"would_change", would_change(of)}};
}

} // namespace ballast::balance
