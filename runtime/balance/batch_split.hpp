/// Splits a global batch over the workers so that the slowest one ends as early
/// as possible.
///
/// Exact. Fractions of rows: T* = (B + sum c/a) / sum(1/a) over the workers
/// that take part, with c = fixed_s and a = per_row_s (water-filling). Whole
/// rows: the smallest T by which all workers together can do B rows, by
/// bisection. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::balance {

/// Compute time of a take of b rows on one worker, waiting for others excluded:
/// fixed_s + per_row_s * b, plus micro_fixed_s for every micro-batch after the
/// first. This models memory as a cost, not as a limit. No rows take no time: a
/// worker whose fixed_s alone exceeds T* is better left out.
struct step_cost {
  double fixed_s = 0;
  double per_row_s = 0;          // > 0 if rows have a cost
  uint64_t micro_batch_rows = 0; // rows that fit at once; 0 = all
  double micro_fixed_s = 0;      // of every micro-batch after the first
  double seconds(uint64_t rows) const;
  friend bool operator==(const step_cost&, const step_cost&) = default;
};

struct batch_split {
  std::vector<uint64_t> rows; // by worker; sums to the global batch
  double makespan_s = 0;      // of this split
  double bound_s = 0;         // no split is faster, fractions of rows included
  friend bool operator==(const batch_split&, const batch_split&) = default;
};

/// Precondition: at least one worker; costs finite and not negative. No other
/// split ends earlier, also among the workers that do not end last. Ties to the
/// lowest worker. Equal costs give equal parts (within one row). Below 0.5 ms
/// for 512 workers.
batch_split split_by_cost(uint64_t global_batch,
                          std::span<const step_cost> workers);

/// The largest time of a worker for these rows.
double makespan_s(std::span<const step_cost> workers,
                  std::span<const uint64_t> rows);

/// The split under the plan in force, and the best one.
struct split_view {
  bool known = false; // every worker is measured
  std::vector<step_cost> costs;
  std::vector<uint64_t> takes; // of a full batch, under the plan in force
  batch_split best;
  /// By rank: weights of a plan with that split.
  std::vector<uint64_t> weights;
  double gain = 0;          // part of the step that the best split saves
  double error = 0;         // of the predicted time
  double lasting_error = 0; // the same for a change that must last
};

} // namespace ballast::balance
