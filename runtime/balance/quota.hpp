/// The data loop's question, on samples: given what each worker holds of each
/// class, what should each hold so that sizes are as wanted, no worker's label
/// distribution is further than a budget from the global one, every class has
/// enough holders, and the fewest samples move?
///
/// It is a min-cost flow (quota_flow.hpp). The fast path solves it on the
/// matrix itself, the exact one by network simplex on a graph, which knows
/// holders, too. A lower bound stands beside the answer. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast {

/// Rows by worker and class.
struct label_counts {
  size_t workers = 0;
  size_t classes = 0;
  std::vector<uint64_t> rows; // [worker * classes + class]
  label_counts() = default;
  label_counts(size_t workers, size_t classes)
      : workers(workers), classes(classes), rows(workers * classes) {}
  uint64_t& at(size_t worker, size_t label) {
    return rows[worker * classes + label];
  }
  uint64_t at(size_t worker, size_t label) const {
    return rows[worker * classes + label];
  }
  uint64_t of_worker(size_t worker) const;
  uint64_t of_class(size_t label) const;
  uint64_t total() const;
  friend bool operator==(const label_counts&, const label_counts&) = default;
};

struct quota_request {
  label_counts held;
  /// Rows each worker should hold: sums to held.total(). 0 for who leaves.
  std::vector<uint64_t> sizes;
  /// Total variation distance from the global distribution that is good enough.
  double skew_tv = 0.1;
  /// Every class with at least so many rows is held by so many workers (of
  /// those whose size is not 0), where the budget allows it.
  uint32_t holders_min = 2;
};

struct quota {
  label_counts target;
  uint64_t moved = 0;   // sum over cells of max(0, target - held)
  uint64_t bound = 0;   // nobody can move fewer (moves_bound.hpp)
  bool exact = false;   // it moves no more than that
  bool covered = false; // every class has its holders
};

/// No quota that fulfils the request moves fewer rows than this: what is left
/// when every worker keeps as much as its size and budget allow. O(W C); what
/// moves_bound.hpp proves is more.
uint64_t moves_bound(const quota_request& what);
/// Never breaks sizes; skew stays within max(skew_tv, C / size) per worker. The
/// minimum, unless a class lacks holders then: those are added by single swaps
/// as far as they go. W = 64, C = 1000 in 7 ms; W = 1024, C = 100 in 15.
quota fast_quota(const quota_request& what);
/// The minimum, by network simplex: first as many holders as sizes and budgets
/// allow (up to holders_min of every class), then the fewest moves. W = 64,
/// C = 1000 in 0.1 s.
quota exact_quota(const quota_request& what);
/// The fast one where it is proven to be the minimum, or has all holders and
/// moves at most 2 % more than the bound; else the exact one; the fast one
/// again where W * C exceeds `exact_cells_max`.
quota best_quota(const quota_request& what, size_t exact_cells_max = 100'000);

/// Skew of each worker: total variation distance of its row from the global
/// distribution; 0 for who holds nothing.
std::vector<double> skews(const label_counts& held);
/// That a random share of so many rows has; `of_class`: rows of the whole set.
double skew_by_chance(const std::vector<uint64_t>& of_class, uint64_t rows);
/// The largest of them; 0 of nobody.
double most_skew(const label_counts& held);

} // namespace ballast
