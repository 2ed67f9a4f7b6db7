/// A number over time in bounded memory. Each cell holds the mean, least and
/// most of what was added while it was filled; once there are too many cells,
/// neighbours become one, and later cells take as many numbers. So the whole
/// time is there, evenly coarse, and a spike stays visible. Pure; one thread.
#pragma once

#include "runtime/base/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::monitor {

/// What a stretch of time came to.
struct series_cell {
  int64_t begin_ns = 0; // CLOCK_MONOTONIC of the first number
  int64_t end_ns = 0;   // and of the last
  step_number begin{};  // the steps that they belong to
  step_number end{};
  uint64_t count = 0;
  double sum = 0; // of those that are finite, as the next two
  double least = 0;
  double most = 0;

  double mean() const { return sum / double(count); }
  /// `later` follows.
  void add(const series_cell& later);
};

class bounded_series {
public:
  /// Precondition: at least 2.
  explicit bounded_series(size_t cells_max) : cells_max_(cells_max) {}

  /// `t_ns` never goes back, else it counts as the newest one's. A number that
  /// is not finite is left out: a gap.
  void add(int64_t t_ns, step_number step, double number);
  /// Steps after that one are undone. A cell that holds some of them and
  /// earlier ones stays if `step` is in it, with what it holds.
  void cut_after(step_number step);

  /// What ended at `from_ns` or later, as at most so many cells.
  std::vector<series_cell> cells(int64_t from_ns, size_t count_max) const;
  bool empty() const { return cells_.empty(); }

private:
  void halve();

  size_t cells_max_;
  uint64_t numbers_per_cell_ = 1;
  std::vector<series_cell> cells_; // ascending
};

} // namespace ballast::monitor
