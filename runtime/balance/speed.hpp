/// Estimates a worker's speed from the time of its takes: a robust line t(b) =
/// fixed + per_row * b through the newest takes, with its uncertainty. A sudden
/// change of speed is recognised after three takes; earlier takes are forgotten
/// then. Pure; one per worker.
///
/// Line: Theil-Sen (median of slopes) if takes of different sizes were seen,
/// else through the origin. Its uncertainty comes from batch means (the spread
/// of the medians of windows), so that noise which lasts a whole window counts
/// too; and if speeds oscillate all the time, that itself is noise.
#pragma once

#include "runtime/balance/batch_split.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace ballast::balance {

class speed_estimate {
public:
  /// One take, in the order of execution. Takes of 0 rows are ignored. During
  /// `waited_s` of its time the worker waited for a core.
  void add(uint64_t rows, double seconds, double waited_s = 0);
  /// Ends a window of observation.
  void end_window();
  /// A plan is in force under which a full batch has this take. Takes of the
  /// plan before may still arrive.
  void new_split(uint64_t rows) {
    split_rows_ = rows;
    takes_of_split_ = 0;
  }
  /// Takes of about that size since then.
  size_t takes_of_split() const { return takes_of_split_; }

  /// There are enough takes for an estimate.
  bool known() const { return takes_.size() >= takes_min; }
  /// The newest take was an outlier: the next ones show whether that lasts.
  bool unsettled() const { return !strange_.empty(); }
  step_cost cost() const;
  /// The fraction of its takes' time in which it waited for a core.
  double waiting() const;
  /// One standard error of the predicted time, relative to it.
  double error() const;
  /// The number of changes so far, sudden ones and drifts.
  uint32_t changes() const { return changes_; }
  /// The speed drifts: measurements age quickly.
  bool adrift() const { return drifts_.size() >= drifts_min; }
  /// By the takes alone: the only known noise in the first windows.
  double error_of_takes() const;
  /// The error for lasting decisions, such as how many rows a worker owns:
  /// noise that lasts a whole window is assumed large until windows show how
  /// large it is.
  double lasting_error() const;
  /// Windows since the last sudden change.
  uint32_t steady_windows() const { return steady_windows_; }
  /// The same for the period before that change.
  uint32_t steady_windows_before() const { return steady_before_; }

  static constexpr size_t takes_min = 3;

private:
  struct take {
    double rows = 0;
    double seconds = 0;
    double waited_s = 0;
    uint32_t window = 0;
  };
  bool look_for_change(const take& newest);
  void look_for_drift();
  void measure_unrest();
  void refit();
  double spread_of_windows() const;
  double misfit(const step_cost& line) const;

  static constexpr size_t takes_per_window = 16;
  static constexpr size_t takes_max = 1024;
  static constexpr size_t takes_refitted = 32; // at once; more: once a window
  static constexpr size_t windows_max = 64;
  static constexpr size_t drifts_min = 4; // within this many windows

  std::deque<take> takes_;           // since the last change
  std::vector<double> window_;       // log residuals of the open window
  std::vector<double> window_rates_; // log seconds per row, likewise
  std::deque<double> levels_;  // medians of these, across changes of speed
  std::deque<double> windows_; // medians of the ended windows, since the change
  std::deque<take> strange_; // in a row, all slower or all faster than expected
  step_cost cost_;
  bool fitted_ = false;
  double spread_take_ = 0.02;   // of log residuals, also from before a change
  double spread_window_ = 0.02; // of their medians over a window
  double window_takes_ = 16;    // in a window
  double windows_seen_ = 0;     // in total, at most windows_max
  double unrest_ = 0;           // of levels_, from one to the next
  uint32_t window_number_ = 0;
  size_t takes_in_window_ = 0;
  uint64_t split_rows_ = 0;
  size_t takes_of_split_ = 0;
  bool changed_ = false; // suddenly, at any time
  uint32_t changes_ = 0;
  std::deque<uint32_t> drifts_; // windows of the newest ones
  uint32_t steady_windows_ = 0;
  uint32_t steady_before_ = UINT32_MAX;
};

} // namespace ballast::balance
