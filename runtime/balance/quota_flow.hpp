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
#include <optional>
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
  std::vector<int64_t> excess_min; // by worker: with less there is no quota
  std::vector<int64_t> excess_max; // by worker
  std::vector<int64_t> of_class;   // rows there are
  /// By class: so many workers must hold some of it.
  std::vector<int64_t> holders_min;

  /// Precondition: the request's sizes sum to its rows. Budgets are in whole
  /// rows.
  explicit quota_problem(const quota_request& what);
  /// With this for excess_max. Targets start as what every worker can keep at
  /// most, which is what `moves_bound` counts.
  void start_with(const std::vector<int64_t>& excess);
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

/// A budget is in fractions of rows, and the first row beyond a fair part is
/// only a fraction of one; a flow has whole rows. So budgets are solved for and
/// then widened or narrowed by what came of them, some times.
class budget_search {
public:
  explicit budget_search(const quota_request& what)
      : what_(what), p_(what), whole_(p_.excess_max),
        large_(p_.cells.size() > cells_of_all_rounds) {}

  /// `solve` sets the targets of a quota_problem, and returns how many rows
  /// have to move by what it learned.
  template <class Solve>
  quota run(Solve solve) {
    std::vector<int64_t> next;
    if (p_.keep_all() && p_.widen_budgets(what_, next))
      return {what_.held, 0, 0, true, true};
    bound_ = moves_bound(what_);
    descend(by_what_is_kept(), solve);
    // Whole rows keep the budget always.
    if (!best_ || (!large_ && !is_near(0)))
      descend(whole_, solve);
    best_->bound = bound_;
    best_->exact = is_near(0);
    return *best_;
  }

private:
  std::vector<int64_t> by_what_is_kept();
  /// Covered, and so few rows from what is proven.
  bool is_near(uint64_t rows) const {
    return best_ && best_->covered && best_->moved <= bound_ + rows;
  }
  void keep_if_better();
  std::vector<int64_t> narrowed(const std::vector<int64_t>& to) const;

  template <class Solve>
  void descend(std::vector<int64_t> excess_max, Solve solve) {
    uint64_t before = UINT64_MAX;
    for (int round = 0; round < budget_rounds; ++round) {
      p_.start_with(excess_max);
      bound_ = std::max(bound_, solve(p_));
      std::vector<int64_t> next;
      const bool kept = p_.widen_budgets(what_, next);
      if (kept)
        keep_if_better();
      const uint64_t moved = p_.moved();
      const auto hardly =
          large_ ? uint64_t(double(moved) * round_gain_min) : uint64_t{0};
      if (is_near(hardly) || (kept && next == excess_max) ||
          (best_ && large_ && moved + hardly >= before))
        return;
      before = moved;
      excess_max = kept || round == 0 ? std::move(next) : narrowed(next);
    }
  }

  const quota_request& what_;
  quota_problem p_;
  const std::vector<int64_t> whole_;
  const bool large_;
  uint64_t bound_ = 0;
  std::optional<quota> best_;
  int64_t fewest_lacking_ = 0;
};

/// The dual of a flow: potentials of the classes, then of the workers' excess
/// nodes, then of their bodies.
moves_certificate prices_of(const std::vector<int64_t>& potentials,
                            size_t classes);

/// More holders for classes that have too few, by swaps of single rows. Sizes
/// and budgets stay kept; where neither allows a swap, the class stays as it
/// is.
void add_holders(quota_problem& p);

} // namespace ballast
