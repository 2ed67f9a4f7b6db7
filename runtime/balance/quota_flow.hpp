/// The flow problem behind a quota, without its graph: classes send their rows
/// to workers, as few as possible to workers that do not hold them now.
///
/// A worker of size n has room for floor(p n) rows of a class with global
/// fraction p, and beyond that for `excess_max` rows of any class: so its total
/// variation distance from the global distribution is at most excess_max / n.
/// With excess_max = max(skew_tv n, n - sum of floors) a quota always exists.
/// Internal to the files of quota.hpp. Pure.
#pragma once

#include "runtime/balance/moves_bound.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace ballast::balance {

constexpr int budget_rounds = 4;
/// The fraction of the rows that another round must win, by the proven bound or
/// by the progress of the last round, if a round takes long.
constexpr double round_gain_min = 0.003;
constexpr size_t cells_of_all_rounds = 20'000;

struct quota_cell {
  int64_t held = 0;
  int64_t fair = 0;   // floor(p n)
  int64_t target = 0; // the solver's variable
};

struct quota_problem {
  size_t workers = 0;
  size_t classes = 0;
  std::vector<quota_cell> cells;   // [worker * classes + class]
  std::vector<int64_t> sizes;      // by worker
  std::vector<int64_t> excess_min; // by worker: below it no quota exists
  std::vector<int64_t> excess_max; // by worker
  std::vector<int64_t> of_class;   // rows there are
  /// By class: the number of workers that must hold some of it.
  std::vector<int64_t> holders_min;

  /// Precondition: the request's sizes sum to its rows. Budgets are in whole
  /// rows.
  explicit quota_problem(const quota_request& what);
  /// Sets excess_max. Targets start as the most that every worker can keep,
  /// which is the quantity that `moves_bound` counts.
  void start_with(const std::vector<int64_t>& excess);
  quota_cell& at(size_t worker, size_t label) {
    return cells[worker * classes + label];
  }
  const quota_cell& at(size_t worker, size_t label) const {
    return cells[worker * classes + label];
  }
  /// Sum over cells of max(0, target - held).
  uint64_t moved() const;
  /// Workers that hold some of the class by the targets.
  int64_t holders(size_t label) const;
  /// The number of missing holders, over all classes.
  int64_t holders_lacking() const;
  bool covered() const { return holders_lacking() == 0; }
  /// Sets the targets to the present holdings. False if these violate sizes or
  /// holders.
  bool keep_all();
  /// Whether the targets keep the budgets, in fractions of rows; and an
  /// excess_max that would use them better.
  bool widen_budgets(const quota_request& what,
                     std::vector<int64_t>& excess_max) const;
  label_counts targets() const;
};

/// A budget is in fractions of rows, and the first row beyond a fair part
/// counts only as a fraction; a flow has whole rows. So the search solves for
/// budgets and then widens or narrows them by the result, a few times.
class budget_search {
public:
  explicit budget_search(const quota_request& what)
      : what_(what), p_(what), whole_(p_.excess_max),
        large_(p_.cells.size() > cells_of_all_rounds) {}

  /// `solve` sets the targets of a quota_problem, and returns the bound on
  /// moved rows that it learned.
  template <class Solve>
  quota run(Solve solve) {
    std::vector<int64_t> next;
    if (p_.keep_all() && p_.widen_budgets(what_, next))
      return {what_.held, 0, 0, true, true};
    bound_ = moves_bound(what_);
    descend(by_what_is_kept(), solve);
    // Whole rows always keep the budget.
    if (!best_ || (!large_ && !is_near(0)))
      descend(whole_, solve);
    best_->bound = bound_;
    best_->exact = is_near(0);
    return *best_;
  }

private:
  std::vector<int64_t> by_what_is_kept();
  /// Covered, and at most this many rows from the proven bound.
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

/// Adds holders for classes with too few, by swaps of single rows. Sizes and
/// budgets stay met; a class without a possible swap stays as it is.
void add_holders(quota_problem& p);

} // namespace ballast::balance
