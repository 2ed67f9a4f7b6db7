/// The quota: given the rows of each class that every worker holds, the rows
/// that each should hold so that sizes are as requested, no worker's label
/// distribution is further than a budget from the global one, every class has
/// enough holders, and the fewest samples move.
///
/// It is a min-cost flow (quota_flow.hpp). The fast path solves it on the
/// matrix itself; the exact one by network simplex on a graph, holders
/// included. The result carries a lower bound. Pure.
#pragma once

#include "runtime/balance/search_effort.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::balance {

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
  /// Rows each worker should hold: sums to held.total(). 0 for a leaving
  /// worker.
  std::vector<uint64_t> sizes;
  /// Accepted total variation distance from the global distribution.
  double skew_tv = 0.1;
  /// Every class with at least this many rows gets this many holders (among
  /// workers whose size is not 0), if the budget allows it.
  uint32_t holders_min = 2;
};

struct quota {
  label_counts target;
  uint64_t moved = 0;   // sum over cells of max(0, target - held)
  uint64_t bound = 0;   // no quota moves fewer (moves_bound.hpp)
  bool exact = false;   // it moves no more than that
  bool covered = false; // every class has its holders
};

/// A bound on the moves of any quota that fulfils the request: the rows left
/// over when every worker keeps as much as its size and budget allow. O(W C);
/// moves_bound.hpp proves more.
uint64_t moves_bound(const quota_request& what);
/// Always meets the sizes; the skew of each worker is at most max(skew_tv, C /
/// size). The minimum, unless a class lacks holders; these are added by single
/// swaps as far as possible. W = 64, C = 1000 in 7 ms; W = 1024, C = 100 in 15.
quota fast_quota(const quota_request& what);
/// The minimum, by network simplex: first as many holders as sizes and budgets
/// allow (up to holders_min of every class), then the fewest moves. W = 64, C =
/// 1000 in 0.1 s.
quota exact_quota(const quota_request& what);
/// The fast one if it is proven minimal, or has all holders and moves at most 2
/// % more than the bound; else the exact one; the fast one again if W * C
/// exceeds `cells_max`, or if the exact one costs more than a part of the
/// effort left (null = no limit).
inline constexpr size_t exact_cells_max = 100'000;
quota best_quota(const quota_request& what, size_t cells_max = exact_cells_max,
                 search_effort* effort = nullptr);

/// What a fast quota costs, in units of search_effort: all rounds together.
uint64_t fast_quota_effort(const label_counts& held);

/// Skew of each worker: total variation distance of its row from the global
/// distribution; 0 for a worker that holds nothing.
std::vector<double> skews(const label_counts& held);
/// The expected skew of a random share of this size; `of_class`: rows of the
/// whole set.
double skew_by_chance(const std::vector<uint64_t>& of_class, uint64_t rows);
/// The largest skew; 0 without workers.
double most_skew(const label_counts& held);

} // namespace ballast::balance
