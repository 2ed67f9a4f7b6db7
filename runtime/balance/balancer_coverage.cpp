// The part of the balancer that gives classes a second holder.
#include "runtime/balance/balancer.hpp"

#include <utility>

namespace ballast::balance {

/// Moves one row of each such class without patience: the loss that it guards
/// against comes without warning.
balance_code balancer::decide_coverage(const load_view& view,
                                       const split_view& split,
                                       const std::vector<uint64_t>& weights,
                                       balance_proposal& out) {
  const std::vector<lone_class>& alone = now_.lone;
  if (alone.empty())
    return balance_code::at_optimum;
  if (window_ < coverage_pause_.until)
    return coverage_pause_.why;
  if (!effort_.allows(2 * fast_quota_effort(now_.held))) {
    cut_short_ = true; // by the other search; the next look has its turn
    return balance_code::limited;
  }
  quota target = best_quota(coverage_request(now_.held, policy_.skew_tv),
                            exact_cells_max, &effort_);
  move_request how = how_to_move(view);
  how.target = target.target;
  how.cover = true;
  how.skew_max = 1; // one row of each
  how.locked = [this](chunk_id id, uint32_t rank) {
    return arrivals_.has_moved({id, now_.ranks.at(rank)});
  };
  move_list list = choose_moves(how);
  cut_to(list, double(policy_.round_ms) / 1e3, now_.ranks, copying_.links());
  if (list.moves.empty())
    return pause(coverage_pause_, nothing_moves(list));
  ledger::plan after =
      moved_plan(now_.of, list.moves, next(now_.of.number), weights);
  size_t left = lone_classes(*set_.labels, after).size();
  if (left >= alone.size())
    return pause(coverage_pause_, list.no_room ? balance_code::no_room
                                               : balance_code::at_optimum);
  double left_s =
      makespan_s(split.costs, split.takes) * double(view.steps_left);
  if (split.known && left_s < copying_.seconds(list.moves, now_.ranks))
    return pause(coverage_pause_, balance_code::payback);
  out.moves = std::move(list.moves);
  out.moved_rows = list.rows;
  out.moved_bytes = list.bytes;
  out.cause = balance_cause::coverage;
  proposed_ = {.for_holders = true};
  std::string who = last_view_.workers.at(alone[0].rank).name;
  finish(out, split, weights,
         alone.size() == 1
             ? "class " + std::to_string(alone[0].label) + " is held by " +
                   who + " alone"
             : std::to_string(alone.size()) +
                   " classes are held by one worker alone, class " +
                   std::to_string(alone[0].label) + " by " + who);
  out.bound_rows = alone.size() - left; // one row for each, whatever the sizes
  return balance_code::planned;
}

} // namespace ballast::balance
