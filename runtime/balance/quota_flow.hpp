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

#include "runtime/balance/quota.hpp"

#include <cstdint>
#include <vector>

namespace ballast {

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
  bool covered() const;
  label_counts targets() const;
};

/// More holders for classes that have too few, by swaps of single rows. Sizes
/// and budgets stay kept; where neither allows a swap, the class stays as it
/// is.
void add_holders(quota_problem& p);

} // namespace ballast
