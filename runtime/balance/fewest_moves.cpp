#include "runtime/balance/fewest_moves.hpp"

#include <algorithm>
#include <utility>

namespace ballast {
namespace {

/// Parts of the budget.
constexpr double aims[] = {1, 0.95, 0.9, 0.8, 0.7, 0.55, 0.4, 0.2};
/// Where there are more cells to look at than this, every second one is left
/// out: a plan that is a little too careful comes sooner.
constexpr size_t cells_of_all_aims = 2'000'000;
constexpr double rounding = 1e-9;

double most(const std::vector<double>& of) {
  return of.empty() ? 0 : *std::max_element(of.begin(), of.end());
}

/// Chunks are cut where whole ones move this much more than the bound ...
constexpr double over_bound_max = 1.03;
/// ... and where that saves such a part of the rows.
constexpr double cuts_save_min = 0.02;
constexpr uint32_t finer = 4; // times, from one grain to the next
constexpr size_t parts_max = 5'000;
constexpr size_t in_vain_max = 2; // grains that were no better

/// The first aim whose pieces keep the budget, with chunks cut so small.
aimed_moves best_aim(const quota_request& demand, const move_request& how,
                     uint32_t part_rows_max, uint64_t& bound) {
  const size_t cells = how.set->train.size() * demand.held.workers;
  const size_t stride = cells > cells_of_all_aims ? 2 : 1;
  aimed_moves best;
  for (size_t i = 0; i < std::size(aims); i += stride) {
    quota_request aimed = demand;
    aimed.skew_tv = aims[i] * demand.skew_tv;
    const quota target = best_quota(aimed);
    if (i == 0)
      bound = target.bound;
    move_request what = how;
    what.target = target.target;
    what.bytes_max = 0;
    what.part_rows_max = part_rows_max;
    aimed_moves found{choose_moves(what), target.moved, 0};
    found.skew_max = most(skews(found.list.after));
    if (i == 0 || found.skew_max < best.skew_max)
      best = std::move(found);
    if (best.skew_max <= demand.skew_tv + rounding)
      break;
  }
  return best;
}

} // namespace

aimed_moves fewest_moves(const quota_request& demand, const move_request& how) {
  uint32_t grain = 1;
  for (const chunk_info& chunk : how.set->train)
    grain = std::max(grain, chunk.rows);
  uint64_t bound = 0;
  aimed_moves best = best_aim(demand, how, 0, bound);
  auto met = [&](const aimed_moves& one) {
    return one.skew_max <= demand.skew_tv + rounding;
  };
  size_t in_vain = 0;
  while (grain > 1 && (!met(best) || double(best.list.rows) >
                                         over_bound_max * double(bound) + 1)) {
    grain = std::max<uint32_t>(1, grain / finer);
    if (demand.held.total() / grain > parts_max)
      break;
    aimed_moves finer_one = best_aim(demand, how, grain, bound);
    const bool fewer = double(finer_one.list.rows) <
                       (1 - cuts_save_min) * double(best.list.rows);
    const bool nearer =
        !met(best) && finer_one.skew_max < best.skew_max - rounding;
    if (nearer || (fewer && (met(finer_one) || !met(best))))
      best = std::move(finer_one);
    else if (++in_vain == in_vain_max)
      break;
  }
  uint64_t bytes = 0;
  size_t fit = 0;
  for (const shard_move& one : best.list.moves) {
    bytes += one.bytes;
    fit += how.bytes_max == 0 || bytes <= how.bytes_max;
  }
  cut_off(best.list, fit);
  return best;
}

} // namespace ballast
