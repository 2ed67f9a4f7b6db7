// The part of the balancer that moves rows: when, which, how many at once, and
// the account of the results.
#include "runtime/balance/balancer.hpp"

#include "runtime/balance/median.hpp"
#include "runtime/balance/moves_bound.hpp"
#include "runtime/balance/percent.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::balance {

namespace {

/// Weights follow the owned rows, so that all workers end their epoch together,
/// if that makes the step longer by no more than this fraction.
constexpr double owned_weights_cost = 0.02;
/// The number of takes given to a worker that owns too few rows to be measured.
constexpr uint64_t takes_to_measure = 4;
/// A rise of the skew by less is not mentioned: it is shown as the same.
constexpr double told_skew_min = 0.0005;

/// Whole groups do not move for less.
constexpr double skew_gain_min = 0.01;

/// The distance of the result from the request: its skew over the budget, then
/// its worst relative size error.
std::pair<double, double> off_by(const quota_request& asked,
                                 const aimed_moves& what) {
  constexpr double rounding = 1e-9;
  double size_off = 0;
  for (size_t rank = 0; rank < asked.sizes.size(); ++rank) {
    const auto size = double(std::max<uint64_t>(1, asked.sizes[rank]));
    const auto end = double(what.list.after.of_worker(rank));
    size_off = std::max(size_off, std::abs(end - size) / size);
  }
  return {std::max(0.0, what.skew_max - asked.skew_tv - rounding), size_off};
}

/// Whether a plan of whole chunks is worth its rows: what is asked for is
/// mostly out of their reach, and some other list of moves is always a little
/// nearer.
bool is_worth_it(const quota_request& asked, const aimed_moves& what,
                 const balance_policy& policy, double gain_min) {
  sizes_request before;
  sizes_request after;
  for (size_t rank = 0; rank < asked.sizes.size(); ++rank) {
    before.owned.push_back(asked.held.of_worker(rank));
    after.owned.push_back(what.list.after.of_worker(rank));
  }
  const double nearer =
      most_excess(before, asked.sizes) - most_excess(after, asked.sizes);
  const double less_skew = std::max(most_skew(asked.held), asked.skew_tv) -
                           std::max(what.skew_max, asked.skew_tv);
  const double less_skew_min =
      std::max((policy.skew_trigger - 1) * asked.skew_tv, skew_gain_min);
  return nearer >= gain_min ||
         (less_skew >= less_skew_min && nearer > -gain_min);
}

/// The rows that workers lack before an epoch can measure them: a few takes of
/// an equal part of the batch. By rank; without those that lack none.
std::map<size_t, uint64_t> rows_to_measure(const plan_view& now,
                                           const worker_speeds& speeds,
                                           uint64_t global_batch) {
  const uint64_t least = takes_to_measure * global_batch / now.ranks.size();
  std::map<size_t, uint64_t> out;
  for (size_t rank = 0; rank < now.ranks.size(); ++rank)
    if (!speeds.is_measured(rank) && now.held.of_worker(rank) < least)
      out[rank] = least - now.held.of_worker(rank);
  return out;
}

/// If speeds are unknown because some workers own almost nothing: gives each a
/// few of the rows that the full plan gives it anyway, and postpones the rest
/// until it is measured. Takes a little of every move, so that these rows have
/// the mix of all to come and need not leave again, however few the worker
/// gets.
void cut_to_measure(move_list& list, std::map<size_t, uint64_t> missing,
                    bool whole_chunks) {
  std::map<size_t, uint64_t> coming;
  for (const shard_move& one : list.moves)
    coming[one.to] += rows(one.what);
  struct so_far {
    uint64_t seen = 0;
    uint64_t given = 0;
  };
  std::map<size_t, so_far> done; // by rank
  // Of whole chunks the small ones, which fit into any share; a large one could
  // be more than its receiver turns out to need.
  std::vector<shard_move*> in_order;
  for (shard_move& one : list.moves)
    in_order.push_back(&one);
  if (whole_chunks)
    std::stable_sort(in_order.begin(), in_order.end(),
                     [](const shard_move* a, const shard_move* b) {
                       return rows(a->what) < rows(b->what);
                     });
  for (shard_move* next_one : in_order) {
    shard_move& one = *next_one;
    so_far& to = done[one.to];
    const uint64_t all = rows(one.what);
    const uint64_t total = std::max<uint64_t>(1, coming[one.to]);
    to.seen += all;
    // Rounds the sum; rounding each part would leave nothing for the last ones.
    const uint64_t due =
        std::min(to.seen, (to.seen * missing[one.to] + total - 1) / total);
    uint64_t part = std::min(all, due - std::min(due, to.given));
    if (whole_chunks)
      part = to.given < missing[one.to] ? all : 0;
    to.given += part;
    one.what.begin = one.what.end - uint32_t(part);
  }
  std::erase_if(list.moves,
                [](const shard_move& one) { return rows(one.what) == 0; });
  list.good_ends = {list.moves.size()};
  cut_off(list, list.moves.size());
}

/// True if rows that moved recently would move again for another reason: then
/// the present measurement may be short-lived, too.
bool move_again(const move_list& list, const recent_arrivals& arrivals,
                const std::vector<worker_id>& ranks) {
  return std::any_of(
      list.moves.begin(), list.moves.end(), [&](const shard_move& one) {
        return arrivals.has_moved({one.what.chunk, ranks.at(one.from)});
      });
}

std::string in_words(const move_cause& cause, const aimed_moves& chosen,
                     bool to_measure, double skew_before, double gain_min,
                     const balance_policy& policy) {
  std::string out;
  if (cause.over_budget > 0)
    out = "skew " + percent(cause.over_budget) + " over the budget of " +
          percent(policy.skew_tv);
  if (cause.by_size)
    out +=
        (out.empty() ? "" : ", ") +
        (cause.excess > gain_min
             ? "one owns " + percent(cause.excess) + " more than its part"
             : percent(cause.lost) + " of the epoch would be waited for one");
  if (to_measure)
    out += "; first some rows for who has too few to be measured";
  if (chosen.skew_max > std::max(skew_before, policy.skew_tv) + told_skew_min)
    out += "; skew rises to " + percent(chosen.skew_max) +
           ": no plan was found that reaches the sizes with less";
  if (chosen.cut_short)
    out += "; the search was cut short, there may be a better plan";
  return out;
}

/// The proven least number of rows to move (moves_bound.hpp) for sizes like
/// those of `to`, and its skew or the budget. Each class that gains a second
/// holder costs a row, whatever the skew.
uint64_t least_rows(const label_counts& from, const label_counts& to,
                    double skew_tv) {
  const quota_request what = as_good_as(from, to, skew_tv);
  uint64_t held_by_more = 0;
  for (size_t label = 0; label < to.classes; ++label) {
    size_t before = 0;
    size_t after = 0;
    for (size_t rank = 0; rank < to.workers; ++rank) {
      before += from.at(rank, label) > 0;
      after += to.at(rank, label) > 0;
    }
    held_by_more += before == 1 && after > 1;
  }
  return std::max({moves_bound(what), held_by_more, proven_least(what)});
}

/// Of these moves, at the newest view.
std::vector<rows_ahead> receivers_of(const std::vector<shard_move>& moves,
                                     const balancer& of,
                                     const split_view& split,
                                     const std::vector<uint64_t>& weights) {
  if (moves.empty())
    return {};
  ahead_question about{
      *of.set().chunks, {}, {}, {}, 0, {}, of.policy().ahead_part,
  };
  about.takes = whole_takes(of.policy().global_batch, weights);
  if (split.known)
    about.step_s = makespan_s(split.costs, split.takes);
  for (size_t rank = 0; rank < of.now().ranks.size(); ++rank) {
    about.owned.push_back(of.now().held.of_worker(rank));
    about.rows_left.push_back(of.last_view().workers.at(rank).rows_left);
    about.rates.push_back(of.copying().reads_of(of.now().ranks[rank]));
  }
  return judge_ahead(moves, about);
}

/// A plan is cut to what can be copied soon because it waits for the copies.
/// True: none of this one does, so all of it is in `list` now.
template <class Receivers>
bool all_at_once(move_list& list, const Receivers& receivers) {
  std::vector<shard_move> all = list.moves;
  all.insert(all.end(), list.later.begin(), list.later.end());
  if (!all_ahead(receivers(all)))
    return false;
  list.moves = std::move(all);
  list.later.clear();
  list.good_ends = {list.moves.size()};
  cut_off(list, list.moves.size());
  return true;
}

} // namespace

/// Data move only when it is known how much each should own, and not for a
/// change that may soon be over: both move rows twice. The batch is split at
/// once, so waiting costs little.
balance_code balancer::wait_for_speeds(const split_view& split) const {
  if (!split.known &&
      !rows_to_measure(now_, speeds_, policy_.global_batch).empty())
    return balance_code::planned; // some rows now, the rest later
  if (!split.known)
    return window_ < plan_window_ + policy_.unmeasured_windows
               ? balance_code::stale_report
               : balance_code::planned;
  if (speeds_.unsettled())
    return balance_code::not_sustained;
  // After a change of the split speeds are measured again. The sooner rows
  // follow, the less of this epoch is lost to waiting for late workers.
  if (speeds_.followed_in(window_) && !speeds_.are_takes_sure(policy_))
    return balance_code::not_sustained;
  // A plan by the first guess of a noisy speed would need a correction later.
  if (placed_ == now_.of.generation ||
      window_ >= plan_window_ + policy_.first_windows_max)
    return balance_code::planned;
  return policy_.gain_min < policy_.first_errors * speeds_.error_of_takes()
             ? balance_code::not_sustained
             : balance_code::planned;
}

/// A small share has some skew by chance alone.
double balancer::skew_trigger(size_t rank) const {
  return std::max((rest_.some() ? 1 : policy_.skew_trigger) * policy_.skew_tv,
                  policy_.skew_floors * now_.noise_floors[rank]);
}

/// Rows that were given for measuring or coverage stay, unless that defeats the
/// purpose of the plan.
aimed_moves balancer::choose(const quota_request& request,
                             move_request how) const {
  if (rest_.leads_to(request.sizes, speeds_.gain_min(policy_), how.room_bytes))
    return {rest_.next(how.bytes_max), rest_.rows(), policy_.skew_tv};
  aimed_moves out = fewest_moves(request, how);
  if ((arrivals_.none_given() && !rest_.some()) ||
      (!out.list.moves.empty() &&
       off_by(request, out) <= std::pair(0.0, policy_.size_tolerance)) ||
      out.cut_short || set_.chunks->whole_chunks)
    return out;
  how.locked = {};
  aimed_moves free = fewest_moves(request, how);
  return off_by(request, free) < off_by(request, out) ? free : out;
}

balance_code balancer::decide_moves(const load_view& view,
                                    const split_view& split,
                                    std::vector<uint64_t> weights,
                                    balance_proposal& out) {
  if (!split.known)
    weights = speeds_.guessed_split(split, policy_.global_batch);
  const bool whole_chunks = set_.chunks->whole_chunks;
  const move_cause cause = find_cause(split, weights);
  if (balance_code wait = wait_for(cause, split); wait != balance_code::planned)
    return wait;
  // The speeds are known better now than at the last split, so rows move once.
  if (split.known && split.gain > split.error)
    weights = split.best.rows;
  quota_request request{now_.held, wanted_sizes(weights), policy_.skew_tv, 2};
  aimed_moves chosen = choose(request, how_to_move(view));
  move_list& list = chosen.list;
  const auto receivers = [&](const std::vector<shard_move>& moves) {
    return receivers_of(moves, *this, split, weights);
  };
  if (!all_at_once(list, receivers))
    cut_to(list, double(policy_.round_ms) / 1e3, now_.ranks, copying_.links());
  std::map<size_t, uint64_t> missing;
  if (!split.known)
    missing = rows_to_measure(now_, speeds_, policy_.global_batch);
  const bool to_measure = !missing.empty();
  if (to_measure)
    cut_to_measure(list, std::move(missing), whole_chunks);
  if (effort_.stopped())
    return balance_code::undecided;
  cut_short_ = chosen.cut_short;
  if (chosen.target_moved == 0 || list.moves.empty()) {
    balance_code why = chosen.target_moved == 0 ? balance_code::at_optimum
                                                : nothing_moves(list);
    if (why == balance_code::at_optimum &&
        (cause.over_budget > 0 || whole_chunks || chosen.cut_short))
      why = balance_code::limited;
    return pause(moves_pause_, why);
  }
  const double gain_min = speeds_.gain_min(policy_);
  if (whole_chunks && !to_measure && !rest_.some() &&
      !is_worth_it(request, chosen, policy_, gain_min))
    return pause(moves_pause_, balance_code::limited);
  if (!rest_.some() && move_again(list, arrivals_, now_.ranks))
    return pause(moves_pause_, balance_code::dwell);
  // Copying lengthens a step by at most this factor.
  const double step_s = split.known ? makespan_s(split.costs, split.takes) : 0;
  const double cost_s =
      (policy_.inflation_max - 1) * copying_.seconds(list.moves, now_.ranks);
  const double part = cause.over_budget > 0 ? 1 : std::min(cause.excess, 1.0);
  const double gain_s = step_s * (part * double(view.steps_left) +
                                  cause.lost * double(view.steps_per_epoch));
  if (step_s > 0 && gain_s < policy_.payback * cost_s)
    return pause(moves_pause_, balance_code::payback);

  out.moves = list.moves;
  out.moved_rows = list.rows;
  out.moved_bytes = list.bytes;
  out.cause = cause.over_budget > 0 ? balance_cause::skew : balance_cause::size;
  proposed_ = {.to_measure = to_measure}; // only now is it a plan
  if (!to_measure)
    proposed_.rest = round_rest(list, request.sizes);
  finish(out, split, weights,
         in_words(cause, chosen, to_measure,
                  now_.held.classes > 1 ? most_skew(now_.held) : 1, gain_min,
                  policy_));
  return balance_code::planned;
}

balance_code balancer::nothing_moves(const move_list& list) const {
  if (list.no_room)
    return balance_code::no_room;
  return arrivals_.none_moved() ? balance_code::at_optimum
                                : balance_code::dwell;
}

move_request balancer::how_to_move(const load_view& view) const {
  std::vector<uint64_t> room;
  for (const worker_load& one : view.workers)
    room.push_back(one.store_free_bytes);
  return {.set = set_.chunks.get(),
          .current = &now_.of,
          .target = {},
          .locked =
              [this](chunk_id id, uint32_t rank) {
                const arrival what{id, now_.ranks.at(rank)};
                return arrivals_.was_given(what) ||
                       (rest_.some() && arrivals_.has_moved(what));
              },
          // One chunk always fits, however low the rate is.
          .bytes_max =
              std::max(copying_.bytes_per_s() * policy_.round_ms / 1000,
                       set_.chunk_bytes_max),
          .room_bytes = std::move(room),
          .skew_max = policy_.skew_tv,
          .size_tolerance = policy_.size_tolerance,
          .labels = set_.labels.get(),
          .effort = &effort_};
}

balance_code balancer::pause(search_pause& which, balance_code why) {
  return which.begin(window_, why, policy_.search_windows_max);
}

void balancer::finish(balance_proposal& out, const split_view& split,
                      std::vector<uint64_t> weights, std::string reason) {
  ledger::plan after =
      moved_plan(now_.of, out.moves, next(now_.of.number), weights);
  std::vector<uint64_t> owned;
  for (const ledger::share& one : after.shares)
    owned.push_back(rows(one));
  if (split.known && policy_.leaves == 0) {
    double by_owned_s =
        makespan_s(split.costs, whole_takes(policy_.global_batch, owned));
    if (by_owned_s <= (1 + owned_weights_cost) * split.best.makespan_s)
      weights = owned;
  } else if (!out.moves.empty() && !proposed_.to_measure) {
    weights = owned;
  }
  label_counts held = count_labels(*set_.labels, after);
  std::vector<double> skewed = skews(held);
  for (size_t rank = 0; rank < after.shares.size(); ++rank)
    out.after.push_back({after.shares[rank].worker, owned[rank], skewed[rank]});
  if (!out.moves.empty()) {
    out.bound_rows = least_rows(now_.held, held, policy_.skew_tv);
    out.round_bound_rows = round_ == now_.of.number
                               ? out.bound_rows
                               : least_rows(round_held_, held, policy_.skew_tv);
    out.round = round_;
  }
  out.receivers = receivers_of(out.moves, *this, split, weights);
  out.generation = now_.of.generation;
  out.base = now_.of.number;
  out.weights = std::move(weights);
  out.rate_bytes_per_s = copying_.bytes_per_s();
  out.reason = std::move(reason);
}

} // namespace ballast::balance
