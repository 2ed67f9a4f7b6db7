#include "runtime/balance/speed.hpp"

#include "runtime/balance/median.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace ballast::balance {

namespace {

/// Lower bound of the spread; no clock or machine is more regular.
constexpr double spread_min = 0.005;
/// A take is an outlier if it is this many times slower or faster than
/// expected, and beyond the noise.
constexpr double strange_ratio = 1.4;
constexpr double strange_spreads = 6;
constexpr size_t strange_takes = 3;
/// Takes whose sizes differ by less say nothing about the fixed cost.
constexpr double distinct_ratio = 1.15;
/// A line with a fixed cost is accepted if its residuals are below this
/// fraction.
constexpr double line_better = 0.8;
/// Slopes are computed between all pairs of this many newest takes.
constexpr size_t slopes_of = 48;
/// Standard deviation from the median absolute deviation of a normal
/// distribution.
constexpr double from_mad = 1.4826;
/// Upper quartile of the distance from the mean, in standard deviations.
constexpr double from_upper_quartile = 1.15;
constexpr size_t levels_min = 4;
/// This many windows, together this far from those before, are a drift.
constexpr ptrdiff_t recent_windows = 4;
constexpr double drift_spreads = 4;
/// ... if there were some recently.
constexpr double next_drift_spreads = 3;
/// The standard error of a median exceeds that of a mean by this factor.
constexpr double of_median = 1.2533;
/// Assumed spread between windows before any is measured; worth two windows.
constexpr double spread_windows_unseen = 0.1;
constexpr double windows_unseen = 2;
/// Learning rate of the remembered spreads.
constexpr double follow = 0.2;

double spread(const std::vector<double>& values) {
  double centre = median(values);
  std::vector<double> off;
  for (double one : values)
    off.push_back(std::abs(one - centre));
  return from_mad * median(std::move(off));
}

} // namespace

void speed_estimate::add(uint64_t rows, double seconds, double waited_s) {
  if (rows == 0 || !(seconds > 0))
    return;
  takes_of_split_ += rows <= split_rows_ + 1 && split_rows_ <= rows + 1;
  take newest{double(rows), seconds, waited_s, window_number_};
  window_rates_.push_back(std::log(seconds / double(rows)));
  if (fitted_ && takes_.size() >= takes_min) {
    if (!look_for_change(newest)) // otherwise that line is outdated
      window_.push_back(std::log(seconds / cost_.seconds(rows)));
  }
  // Noise that lasts a whole window appears once per window; more takes in it
  // are no more evidence.
  if (takes_in_window_ >= takes_per_window)
    return;
  ++takes_in_window_;
  takes_.push_back(newest);
  if (takes_.size() > takes_max)
    takes_.pop_front();
  if (takes_.size() <= takes_refitted || !fitted_)
    refit();
}

/// Three outliers in a row, all to the same side, are a change of speed.
bool speed_estimate::look_for_change(const take& newest) {
  double off = std::log(newest.seconds / cost_.seconds(uint64_t(newest.rows)));
  double limit = std::max(
      std::log(strange_ratio),
      strange_spreads * std::max({spread_take_, spread_of_windows(), unrest_}));
  bool same_side = strange_.empty() ||
                   (off > 0) == (strange_.back().seconds >
                                 cost_.seconds(uint64_t(strange_.back().rows)));
  if (std::abs(off) < limit || !same_side)
    strange_.clear();
  if (std::abs(off) < limit)
    return false;
  strange_.push_back(newest);
  if (strange_.size() < strange_takes)
    return false;
  // the caller adds `newest` itself
  strange_.pop_back();
  takes_.assign(strange_.begin(), strange_.end());
  strange_.clear();
  takes_in_window_ = takes_.size();
  window_.clear();
  windows_.clear();
  ++changes_;
  steady_before_ = std::exchange(changed_, true) ? steady_windows_ : UINT32_MAX;
  steady_windows_ = 0;
  return true;
}

void speed_estimate::refit() {
  std::vector<double> slopes;
  size_t first = takes_.size() > slopes_of ? takes_.size() - slopes_of : 0;
  for (size_t i = first; i < takes_.size(); ++i)
    for (size_t j = i + 1; j < takes_.size(); ++j) {
      const take& small =
          takes_[i].rows < takes_[j].rows ? takes_[i] : takes_[j];
      const take& large =
          takes_[i].rows < takes_[j].rows ? takes_[j] : takes_[i];
      if (large.rows >= distinct_ratio * small.rows)
        slopes.push_back((large.seconds - small.seconds) /
                         (large.rows - small.rows));
    }
  std::vector<double> rates;
  for (const take& one : takes_)
    rates.push_back(one.seconds / one.rows);
  double through_origin = median(rates);
  cost_.per_row_s = through_origin;
  cost_.fixed_s = 0;
  fitted_ = true;
  // A few odd sizes (an epoch's short last step) do not define a line yet.
  if (slopes.size() < takes_.size() - first)
    return;
  step_cost line;
  line.per_row_s =
      std::clamp(median(slopes), through_origin / 100, through_origin);
  std::vector<double> rests;
  for (const take& one : takes_)
    rests.push_back(one.seconds - line.per_row_s * one.rows);
  line.fixed_s = std::max(0.0, median(rests));
  if (misfit(line) < line_better * misfit(cost_))
    cost_ = line;
}

/// The upper quartile of all differences between neighbours: one change of
/// speed in many windows is a change, one in every few is unrest.
void speed_estimate::measure_unrest() {
  if (window_rates_.empty())
    return;
  levels_.push_back(median(std::exchange(window_rates_, {})));
  if (levels_.size() > windows_max)
    levels_.pop_front();
  std::vector<double> steps;
  for (size_t i = 1; i < levels_.size(); ++i)
    steps.push_back(std::abs(levels_[i] - levels_[i - 1]));
  if (steps.size() < levels_min)
    return;
  auto upper = steps.begin() + ptrdiff_t(steps.size() * 3 / 4);
  std::nth_element(steps.begin(), upper, steps.end());
  unrest_ = *upper / (from_upper_quartile * std::numbers::sqrt2);
}

double speed_estimate::misfit(const step_cost& line) const {
  std::vector<double> off;
  for (const take& one : takes_)
    off.push_back(
        std::abs(std::log(one.seconds / line.seconds(uint64_t(one.rows)))));
  return median(std::move(off));
}

void speed_estimate::end_window() {
  ++steady_windows_;
  ++window_number_;
  takes_in_window_ = 0;
  measure_unrest();
  if (window_.size() < 2) {
    window_.clear();
    return;
  }
  windows_seen_ = std::min(windows_seen_ + 1, double(windows_max));
  // The first measurements weigh more than the assumption.
  const double newest = std::max(follow, 1 / windows_seen_);
  double noise = std::max(spread(window_), spread_min);
  spread_take_ += newest * (noise - spread_take_);
  window_takes_ += newest * (double(window_.size()) - window_takes_);
  windows_.push_back(median(std::move(window_)));
  window_.clear();
  if (windows_.size() > windows_max)
    windows_.pop_front();
  if (ptrdiff_t(windows_.size()) >= recent_windows) {
    double between = spread({windows_.begin(), windows_.end()});
    spread_window_ += newest * (std::max(between, spread_min) - spread_window_);
  }
  look_for_drift();
  refit();
}

/// Of a window of usual length: one that a change cut short says little about
/// the others.
double speed_estimate::spread_of_windows() const {
  const double by_takes = of_median * spread_take_ / std::sqrt(window_takes_);
  return std::max(spread_window_, by_takes);
}

/// A change too small for single takes shows in the medians of windows: several
/// in a row deviate from the line through all takes, to the same side.
void speed_estimate::look_for_drift() {
  while (!drifts_.empty() && drifts_.front() + windows_max < window_number_)
    drifts_.pop_front();
  if (ptrdiff_t(windows_.size()) < 2 * recent_windows)
    return;
  std::vector<double> recent(windows_.end() - recent_windows, windows_.end());
  const double off = median(recent);
  double limit = (adrift() ? next_drift_spreads : drift_spreads) * of_median *
                 std::max(spread_of_windows(), unrest_) /
                 std::sqrt(double(recent_windows));
  if (std::abs(off) < limit)
    return;
  std::erase_if(takes_, [this](const take& one) {
    return one.window + uint32_t(recent_windows) < window_number_;
  });
  ++changes_;
  drifts_.push_back(window_number_);
  windows_.clear();
  for (double one : recent) // deviation from the line through these alone
    windows_.push_back(one - off);
  steady_windows_ = recent_windows;
}

step_cost speed_estimate::cost() const {
  return cost_;
}

double speed_estimate::waiting() const {
  double seconds = 0;
  double waited_s = 0;
  for (const take& one : takes_) {
    seconds += one.seconds;
    waited_s += one.waited_s;
  }
  return seconds > 0 ? waited_s / seconds : 0;
}

double speed_estimate::error() const {
  double by_takes = spread_take_ / std::sqrt(double(takes_.size()));
  // The line rests on the takes of about this many windows.
  double windows = std::max(1.0, double(windows_.size()));
  double by_windows =
      std::max(spread_of_windows(), unrest_) / std::sqrt(windows);
  return of_median * std::max(by_takes, by_windows);
}

double speed_estimate::error_of_takes() const {
  std::vector<double> off;
  for (const take& one : takes_)
    off.push_back(std::log(one.seconds / cost_.seconds(uint64_t(one.rows))));
  return of_median * std::max(spread_take_, spread(off)) /
         std::sqrt(double(takes_.size()));
}

double speed_estimate::lasting_error() const {
  // The spread of windows before a change is still valid after it.
  const double spread_seen = spread_of_windows();
  const double spread_all = std::sqrt(
      (windows_unseen * spread_windows_unseen * spread_windows_unseen +
       windows_seen_ * spread_seen * spread_seen) /
      (windows_unseen + windows_seen_));
  const double windows = std::max(1.0, double(windows_.size()));
  return std::max(error(), of_median * spread_all / std::sqrt(windows));
}

} // namespace ballast::balance
