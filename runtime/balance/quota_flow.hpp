/// The flow problem behind a quota, without its graph: classes send their rows
/// to workers, and the fewest of them to others than hold them now.
///
/// A worker of size n has room for floor(p n) rows of a class of global share
/// p, and beside that for `excess_max` rows of any class: so its total
/// variation distance from the global distribution is at most excess_max / n.
/// With excess_max = max(skew_tv n, what the floors leave of n) a quota exists
/// always. Internal to the files
/// of quota.hpp. Pure.
#pragma once

#include "runtime/balance/moves_bound.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

constexpr int budget_rounds = 4;
/// Part of the rows that another round has to win, by what is proven or by what
/// the last one did, where a round takes long.
constexpr double round_gain_min = 0.003;
constexpr size_t cells_of_all_rounds = 20'000;

struct quota_cell {
  int64_t held = 0;
  int64_t fair = 0;   // floor(p n)
  int64_t target = 0; // what the solver works on
};

struct quota_problem {
  size_t workers = 0;
  size_t classes = 0;
  std::vector<quota_cell> cells;   // [worker * classes + class]
  std::vector<int64_t> sizes;      // by worker
  std::vector<int64_t> excess_max; // by worker
  std::vector<int64_t> of_class;   // rows there are
  /// By class: so many workers must hold some of it.
  std::vector<int64_t> holders_min;

  /// Precondition: the request's sizes sum to its rows. Targets start as what
  /// every worker can keep at most, which is what `moves_bound` counts.
  explicit quota_problem(const quota_request& what);
  quota_cell& at(size_t worker, size_t label) {
    return cells[worker * classes + label];
  }
  const quota_cell& at(size_t worker, size_t label) const {
    return cells[worker * classes + label];
  }
  /// Sum over cells of what the target is short of or beyond held.
  uint64_t moved() const;
  /// Workers that hold some of the class by the targets.
  int64_t holders(size_t label) const;
  /// Holders that classes have too few of, together.
  int64_t holders_lacking() const;
  bool covered() const { return holders_lacking() == 0; }
  /// Makes the targets what is held. False if sizes or holders are not as they
  /// should be then.
  bool keep_all();
  /// Whether the targets keep the budgets, in fractions of rows; and what
  /// excess_max could be instead, so that more or all of them are used up.
  bool widen_budgets(const quota_request& what,
                     std::vector<int64_t>& excess_max) const;
  label_counts targets() const;
};

/// Solves what was asked for with budgets in whole rows, and again with those
/// that have some left. A budget is in fractions of rows and the first row
/// beyond a fair part is only a fraction of one: whole numbers are a little
/// stricter. `solve` sets the targets, and returns how many rows have to move
/// by what it learned.
template <class Solve>
quota within_budgets(const quota_request& what, Solve solve) {
  quota best;
  int64_t fewest_lacking = 0;
  std::vector<int64_t> wider; // what the next round may use
  quota_problem as_it_is(what);
  if (as_it_is.keep_all() && as_it_is.widen_budgets(what, wider))
    return {what.held, 0, 0, true, true};
  std::vector<int64_t> excess_max = as_it_is.excess_max;
  uint64_t bound = moves_bound(what);
  for (int round = 0; round < budget_rounds; ++round) {
    quota_problem p(what);
    p.excess_max = excess_max;
    bound = std::max(bound, solve(p));
    const bool kept = p.widen_budgets(what, wider);
    const int64_t lacking = p.holders_lacking();
    const uint64_t before = round == 0 ? UINT64_MAX : best.moved;
    if (round == 0 ||
        (kept && (lacking < fewest_lacking ||
                  (lacking == fewest_lacking && p.moved() < best.moved)))) {
      best = {p.targets(), p.moved(), bound, false, lacking == 0};
      fewest_lacking = lacking;
    }
    const auto hardly = p.cells.size() > cells_of_all_rounds
                            ? uint64_t(double(best.moved) * round_gain_min)
                            : uint64_t{0};
    if (wider == excess_max || (best.covered && best.moved <= bound + hardly) ||
        (hardly > 0 && p.moved() + hardly >= before))
      break;
    excess_max = std::move(wider);
  }
  best.bound = bound;
  best.exact = best.covered && best.moved <= bound;
  return best;
}

/// The dual of a flow: potentials of the classes, then of the workers' excess
/// nodes, then of their bodies.
moves_certificate prices_of(const std::vector<int64_t>& potentials,
                            size_t classes);

/// More holders for classes that have too few, by swaps of single rows. Sizes
/// and budgets stay kept; where neither allows a swap, the class stays as it
/// is.
void add_holders(quota_problem& p);

} // namespace ballast
