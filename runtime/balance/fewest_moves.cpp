#include "runtime/balance/fewest_moves.hpp"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

namespace ballast::balance {
namespace {

/// Fractions of the budget.
constexpr double aims[] = {1, 0.95, 0.9, 0.8, 0.7, 0.55, 0.4, 0.2};
/// With more cells than this every second aim is skipped: a slightly too
/// careful plan is found sooner.
constexpr size_t cells_of_all_aims = 2'000'000;
constexpr double rounding_skew = 1e-9;

/// Chunks are cut if whole ones move this much more than the bound ...
constexpr double over_bound_max = 1.03;
/// ... and if cutting saves at least this fraction of the rows.
constexpr double cuts_save_min = 0.02;
constexpr uint32_t finer = 4; // the ratio from one grain to the next
constexpr size_t parts_max = 5'000;
constexpr size_t in_vain_max = 2; // grains without an improvement

/// Searches one grain after the other, with the same targets for all.
class aimed_search {
public:
  aimed_search(const quota_request& demand, const move_request& how,
               search_effort& effort)
      : demand_(demand), how_(how), effort_(effort) {
    how_.effort = &effort;
    const size_t cells = how.set->train.size() * demand.held.workers;
    for (size_t i = 0; i<std::size(aims); i += cells> cells_of_all_aims ? 2 : 1)
      aims_.push_back(aims[i]);
  }

  bool met(const aimed_moves& one) const {
    return one.skew_max <= demand_.skew_tv + rounding_skew;
  }

  /// A move without room has no room in parts either, nor with a smaller
  /// budget, which takes more of it.
  bool worth_more(const aimed_moves& one) const {
    return !met(one) && !one.list.no_room;
  }

  uint64_t bound() { return target(0).bound; }

  /// Whether enough effort is left for another search like the last one.
  bool may_try() { return effort_.allows(last_effort_); }

  /// The first aim whose pieces keep the budget, with parts of at most this
  /// size.
  aimed_moves best(uint32_t part_rows_max) {
    aimed_moves out;
    for (size_t i = 0; i < aims_.size() && (i == 0 || worth_more(out)); ++i) {
      if (i > 0 &&
          !effort_.allows(last_effort_ + fast_quota_effort(demand_.held)))
        break;
      // A budget of 0, or below what whole rows allow, has one target.
      if (i > 0 && target(i).target == target(i - 1).target)
        continue;
      move_request what = how_;
      what.target = target(i).target;
      what.bytes_max = 0;
      what.part_rows_max = part_rows_max;
      const uint64_t before = effort_.left();
      aimed_moves found{choose_moves(what), target(i).moved, 0};
      last_effort_ = before - effort_.left();
      found.skew_max = most_skew(found.list.after);
      if (i == 0 || found.skew_max < out.skew_max)
        out = std::move(found);
    }
    return out;
  }

private:
  const quota& target(size_t aim) {
    while (targets_.size() <= aim) {
      quota_request aimed = demand_;
      aimed.skew_tv = aims_[targets_.size()] * demand_.skew_tv;
      targets_.push_back(best_quota(aimed, exact_cells_max, &effort_));
    }
    return targets_[aim];
  }

  const quota_request& demand_;
  move_request how_;
  search_effort& effort_;
  uint64_t last_effort_ = 0; // of the last choice of pieces
  std::vector<double> aims_;
  // Of the first aims, computed on demand; a reference to one stays valid.
  std::deque<quota> targets_;
};

} // namespace

aimed_moves fewest_moves(const quota_request& demand, const move_request& how) {
  uint32_t grain = 1;
  for (const ledger::chunk_info& chunk : how.set->train)
    grain = std::max(grain, chunk.rows);
  search_effort no_limit;
  search_effort& effort = how.effort ? *how.effort : no_limit;
  aimed_search search(demand, how, effort);
  aimed_moves best = search.best(0);
  const double enough = over_bound_max * double(search.bound()) + 1;
  // No plan for sizes may leave a worse skew if one of finer parts does not.
  const double skew_before =
      std::max(demand.skew_tv, most_skew(demand.held)) + rounding_skew;
  size_t in_vain = 0;
  while (!how.set->whole_chunks && grain > 1 &&
         (!search.met(best) || double(best.list.rows) > enough)) {
    grain = std::max<uint32_t>(1, grain / finer);
    if (demand.held.total() / grain > parts_max || !search.may_try())
      break;
    aimed_moves finer_one = search.best(grain);
    const bool fewer = double(finer_one.list.rows) <
                       (1 - cuts_save_min) * double(best.list.rows);
    const bool nearer =
        !search.met(best) && finer_one.skew_max < best.skew_max - rounding_skew;
    if (nearer || (fewer && (search.met(finer_one) || !search.met(best))))
      best = std::move(finer_one);
    else if (++in_vain >= in_vain_max && best.skew_max <= skew_before)
      break;
  }
  best.cut_short = effort.cut_short();
  cut_off(best.list, fit_in_bytes(best.list.moves, how.bytes_max));
  return best;
}

} // namespace ballast::balance
