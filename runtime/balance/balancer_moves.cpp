// The part of the balancer that moves rows: when, which, how many at once, and
// the account of the results.
#include "runtime/balance/balancer.hpp"

#include "runtime/balance/median.hpp"
#include "runtime/balance/moves_bound.hpp"
#include "runtime/balance/percent.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast {

namespace {

/// Weights follow the owned rows, so that all workers end their epoch together,
/// if that makes the step longer by no more than this fraction.
constexpr double owned_weights_cost = 0.02;
/// The number of takes given to a worker that owns too few rows to be measured.
constexpr uint64_t takes_to_measure = 4;
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

} // namespace

/// Data move only when it is known how much each should own, and not for a
/// change that may soon be over: both move rows twice. The batch is split at
/// once, so waiting costs little.
balance_code balancer::wait_for_speeds(const split_view& split) const {
  if (!split.known && !too_few_to_measure().empty())
    return balance_code::planned; // some rows now, the rest later
  if (!split.known)
    return window_ < plan_window_ + policy_.unmeasured_windows
               ? balance_code::stale_report
               : balance_code::planned;
  for (const share& one : plan_->shares)
    if (speeds_.at(one.worker).unsettled())
      return balance_code::not_sustained;
  // After a change of the split speeds are measured again. The sooner rows
  // follow, the less of this epoch is lost to waiting for late workers.
  if (!speed_plans_.empty() && window_ <= speed_plans_.back() &&
      !are_takes_sure())
    return balance_code::not_sustained;
  // A plan by the first guess of a noisy speed would need a correction later.
  if (placed_ == plan_->generation ||
      window_ >= plan_window_ + policy_.first_windows_max)
    return balance_code::planned;
  return policy_.gain_min < policy_.first_errors * error_of_takes()
             ? balance_code::not_sustained
             : balance_code::planned;
}

double balancer::error_of_takes() const {
  double out = 0;
  for (const share& one : plan_->shares)
    out = std::max(out, speeds_.at(one.worker).error_of_takes());
  return out;
}

/// A few takes of this split suffice if they agree.
bool balancer::are_takes_sure() const {
  const bool seen = std::all_of(
      plan_->shares.begin(), plan_->shares.end(), [this](const share& one) {
        return speeds_.at(one.worker).takes_of_split() >=
               speed_estimate::takes_min;
      });
  return seen && policy_.first_errors * error_of_takes() <= policy_.gain_min;
}

/// A small share has some skew by chance alone.
double balancer::skew_trigger(size_t rank) const {
  return std::max((rest_.some() ? 1 : policy_.skew_trigger) * policy_.skew_tv,
                  policy_.skew_floors * noise_floors_[rank]);
}

bool balancer::stays(chunk_id id, uint32_t rank) const {
  return came(moved_, id, rank) || came(given_, id, rank);
}

bool balancer::is_measured(size_t rank) const {
  const speed_estimate* speed = speed_of(plan_->shares[rank].worker);
  return speed != nullptr && speed->known();
}

/// Ranks that own so few rows that an epoch cannot measure them.
std::vector<size_t> balancer::too_few_to_measure() const {
  std::vector<size_t> out;
  for (size_t rank = 0; rank < plan_->shares.size(); ++rank)
    if (!is_measured(rank) && held_.of_worker(rank) < rows_to_measure())
      out.push_back(rank);
  return out;
}

/// A few takes of an equal part of the batch.
uint64_t balancer::rows_to_measure() const {
  return takes_to_measure * policy_.global_batch / plan_->shares.size();
}

/// If speeds are unknown because some workers own almost nothing: gives each a
/// few of the rows that the full plan gives it anyway, and postpones the rest
/// until it is measured. Takes a little of every move, so that these rows have
/// the mix of all to come and need not leave again, however few the worker
/// gets.
bool balancer::cut_to_measure(move_list& list) const {
  std::map<size_t, uint64_t> missing;
  for (size_t rank : too_few_to_measure())
    missing[rank] = rows_to_measure() - held_.of_worker(rank);
  if (missing.empty())
    return false;
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
  if (set_->whole_chunks)
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
    if (set_->whole_chunks)
      part = to.given < missing[one.to] ? all : 0;
    to.given += part;
    one.what.begin = one.what.end - uint32_t(part);
  }
  std::erase_if(list.moves,
                [](const shard_move& one) { return rows(one.what) == 0; });
  list.good_ends = {list.moves.size()};
  cut_off(list, list.moves.size());
  return true;
}

/// Rows that were given for measuring or coverage stay, unless that defeats the
/// purpose of the plan.
aimed_moves balancer::choose(const quota_request& request,
                             move_request how) const {
  if (rest_.leads_to(request.sizes, gain_min(), how.room_bytes))
    return {rest_.next(how.bytes_max), rest_.rows(), policy_.skew_tv};
  aimed_moves out = fewest_moves(request, how);
  if ((given_.empty() && !rest_.some()) ||
      (!out.list.moves.empty() &&
       off_by(request, out) <= std::pair(0.0, policy_.size_tolerance)) ||
      out.cut_short || set_->whole_chunks)
    return out;
  how.locked = {};
  aimed_moves free = fewest_moves(request, how);
  return off_by(request, free) < off_by(request, out) ? free : out;
}

/// As if unmeasured workers had the median speed of the others.
std::vector<uint64_t>
balancer::weights_by_guess(const split_view& split) const {
  std::vector<double> row_s;
  for (size_t rank = 0; rank < split.costs.size(); ++rank)
    if (is_measured(rank))
      row_s.push_back(split.costs[rank].per_row_s);
  if (row_s.empty())
    return std::vector<uint64_t>(split.costs.size(), 1);
  std::vector<step_cost> costs = split.costs;
  const step_cost usual{.fixed_s = 0, .per_row_s = median(std::move(row_s))};
  for (size_t rank = 0; rank < costs.size(); ++rank)
    if (!is_measured(rank))
      costs[rank] = usual;
  return split_by_cost(policy_.global_batch, costs).rows;
}

balance_code balancer::decide_moves(const load_view& view,
                                    const split_view& split,
                                    std::vector<uint64_t> weights,
                                    balance_proposal& out) {
  if (!split.known)
    weights = weights_by_guess(split);
  const move_cause cause = find_cause(split, weights);
  if (balance_code wait = wait_for(cause, split); wait != balance_code::planned)
    return wait;
  // The speeds are known better now than at the last split, so rows move once.
  if (split.known && split.gain > split.error)
    weights = split.best.rows;
  quota_request request{held_, wanted_sizes(weights), policy_.skew_tv, 2};
  aimed_moves chosen = choose(request, how_to_move(view));
  move_list& list = chosen.list;
  cut_to_round(list);
  const bool to_measure = !split.known && cut_to_measure(list);
  if (effort_.stopped())
    return balance_code::undecided;
  cut_short_ = chosen.cut_short;
  if (chosen.target_moved == 0 || list.moves.empty()) {
    balance_code why = chosen.target_moved == 0 ? balance_code::at_optimum
                                                : nothing_moves(list);
    if (why == balance_code::at_optimum &&
        (cause.over_budget > 0 || set_->whole_chunks || chosen.cut_short))
      why = balance_code::limited;
    return pause(moves_pause_, why);
  }
  if (set_->whole_chunks && !to_measure && !rest_.some() &&
      !is_worth_it(request, chosen, policy_, gain_min()))
    return pause(moves_pause_, balance_code::limited);
  if (moves_again(list))
    return pause(moves_pause_, balance_code::dwell);
  // Copying lengthens a step by at most this factor.
  const double step_s = split.known ? makespan_s(split.costs, split.takes) : 0;
  const double cost_s = (policy_.inflation_max - 1) * copying_s(list.moves);
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
  finish(out, split, weights, in_words(cause, chosen, to_measure));
  return balance_code::planned;
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
          .locked =
              [this](chunk_id id, uint32_t rank) {
                return came(given_, id, rank) ||
                       (rest_.some() && came(moved_, id, rank));
              },
          // One chunk always fits, however low the rate is.
          .bytes_max = std::max(rate_bytes_per_s_ * policy_.round_ms / 1000,
                                chunk_bytes_max_),
          .room_bytes = std::move(room),
          .skew_max = policy_.skew_tv,
          .size_tolerance = policy_.size_tolerance,
          .labels = labels_.get(),
          .effort = &effort_};
}

/// Keeps the first moves, those that take one round to copy over these links.
void balancer::cut_to_round(move_list& list) const {
  cut_off(list, fit_in_travel(list.moves, double(policy_.round_ms) / 1e3,
                              ranks(), links_));
}

/// True if rows that moved recently would move again for another reason: then
/// the present measurement may be short-lived, too.
bool balancer::moves_again(const move_list& list) const {
  return !rest_.some() &&
         std::any_of(list.moves.begin(), list.moves.end(),
                     [this](const shard_move& one) {
                       return came(moved_, one.what.chunk, one.from);
                     });
}

balance_code balancer::pause(search_pause& which, balance_code why) {
  return which.begin(window_, why, policy_.search_windows_max);
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

/// The proven least number of rows to move (moves_bound.hpp) for sizes like
/// those of `to`, and its skew or the budget. Each class that gains a second
/// holder costs a row, whatever the skew.
uint64_t balancer::least_rows(const label_counts& from,
                              const label_counts& to) const {
  const quota_request what = as_good_as(from, to, policy_.skew_tv);
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

void balancer::finish(balance_proposal& out, const split_view& split,
                      std::vector<uint64_t> weights, std::string reason) {
  plan after = moved_plan(*plan_, out.moves, next(plan_->number), weights);
  std::vector<uint64_t> owned;
  for (const share& one : after.shares)
    owned.push_back(rows(one));
  if (split.known) {
    double by_owned_s =
        makespan_s(split.costs, whole_takes(policy_.global_batch, owned));
    if (by_owned_s <= (1 + owned_weights_cost) * split.best.makespan_s)
      weights = owned;
  } else if (!out.moves.empty() && !proposed_.to_measure) {
    weights = owned;
  }
  label_counts held = count_labels(*labels_, after);
  std::vector<double> skewed = skews(held);
  for (size_t rank = 0; rank < after.shares.size(); ++rank)
    out.after.push_back({after.shares[rank].worker, owned[rank], skewed[rank]});
  if (!out.moves.empty()) {
    out.bound_rows = least_rows(held_, held);
    out.round_bound_rows = round_ == plan_->number
                               ? out.bound_rows
                               : least_rows(round_held_, held);
    out.round = round_;
  }
  out.generation = plan_->generation;
  out.base = plan_->number;
  out.weights = std::move(weights);
  out.rate_bytes_per_s = rate_bytes_per_s_;
  out.reason = std::move(reason);
}

} // namespace ballast
