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

} // namespace

aimed_moves fewest_moves(const quota_request& demand, const move_request& how) {
  const size_t cells = how.set->train.size() * demand.held.workers;
  const size_t stride = cells > cells_of_all_aims ? 2 : 1;
  aimed_moves best;
  for (size_t i = 0; i < std::size(aims); i += stride) {
    quota_request aimed = demand;
    aimed.skew_tv = aims[i] * demand.skew_tv;
    const quota target = best_quota(aimed);
    move_request what = how;
    what.target = target.target;
    what.bytes_max = 0;
    aimed_moves found{choose_moves(what), target.moved, 0};
    found.skew_max = most(skews(found.list.after));
    if (i == 0 || found.skew_max < best.skew_max)
      best = std::move(found);
    if (best.skew_max <= demand.skew_tv + rounding)
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
