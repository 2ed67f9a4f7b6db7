#include "runtime/sampling/importance.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::sampling {

namespace {

/// Of a mean, what is left of a value after one step.
constexpr double kept_a_step = 0.9;
/// Turned on below the one, off from the other on: means of noisy values.
constexpr double cost_on = 0.9;
constexpr double cost_off = 1;
/// The first steps after a turn make room and fill caches.
constexpr uint64_t steps_unmeasured = 3;
constexpr uint64_t steps_measured = 10;
/// A trial that ended earlier did not pay.
constexpr uint64_t trial_steps = 100;
constexpr uint64_t wait_least = 64;
constexpr uint64_t wait_most = 4096;
/// Of forward and backward pass, until it is measured.
constexpr double forward_part = 1.0 / 3;

} // namespace

bool are_scores(std::span<const float> scores) {
  double squares = 0;
  for (float one : scores) {
    if (!(one >= 0))
      return false;
    squares += double(one) * double(one);
  }
  return std::isfinite(squares);
}

std::vector<double> chances_of(std::span<const float> scores, size_t draws,
                               double floor) {
  const auto rows = double(scores.size());
  BALLAST_CHECK(draws > 0 && draws <= scores.size() && floor > 0 && floor <= 1,
                "no rows to draw, or no floor");
  double sum = 0;
  for (float one : scores)
    sum += double(one);
  std::vector<double> out(scores.size());
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = sum > 0 ? floor / rows + (1 - floor) * double(scores[i]) / sum
                     : 1 / rows;
  // Each round what exceeds 1 is dealt to the others; none falls below 1 again.
  size_t certain = 0;
  double others = 1; // sum of p over the rows that are not certain
  double scale = double(draws);
  while (certain < draws) {
    const size_t before = certain;
    scale = double(draws - certain) / others;
    certain = 0;
    others = 0;
    for (double p : out)
      if (scale * p >= 1)
        ++certain;
      else
        others += p;
    if (certain == before)
      break;
  }
  for (double& one : out)
    one = std::min(1.0, scale * one);
  return out;
}

std::vector<drawn_row> draw_rows(std::span<const double> chances, double unit) {
  std::vector<drawn_row> out;
  double sum = 0;
  double next = unit;
  for (size_t i = 0; i < chances.size(); ++i) {
    sum += chances[i];
    if (sum > next) {
      out.push_back({uint32_t(i), float(1 / chances[i])});
      next += 1;
    }
  }
  return out;
}

double noise_ratio(std::span<const float> scores,
                   std::span<const double> chances) {
  double drawn = 0, all = 0, alike = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    const double square = double(scores[i]) * double(scores[i]);
    all += square;
    drawn += square / chances[i];
    alike += 1 / chances[i];
  }
  return all > 0 ? drawn / all
                 : alike / double(std::max<size_t>(chances.size(), 1));
}

// -- the switch ---------------------------------------------------------------

void importance_switch::recent_mean::add(double value, double old) {
  sum_ = old * sum_ + (1 - old) * value;
  weight_ = old * weight_ + (1 - old);
}

void importance_switch::recent_mean::add_time(double value) {
  if (const auto mean = this->value())
    value = std::min(value, 2 * *mean);
  add(value, kept_a_step);
}

std::optional<double> importance_switch::recent_mean::value() const {
  return weight_ > 0 ? std::optional(sum_ / weight_) : std::nullopt;
}

importance_switch::importance_switch(const importance_rule& rule)
    : rule_(rule), wait_(steps_unmeasured + steps_measured) {}

uint32_t importance_switch::draws(uint32_t rows) const {
  return std::clamp(uint32_t(std::ceil(rule_.keep * double(rows))), 1U,
                    std::max(rows, 1U));
}

void importance_switch::scored(double noise) {
  const uint64_t steps = std::max<uint64_t>(step_ - scored_at_, 1);
  noise_.add(noise, std::pow(kept_a_step, double(steps)));
  scored_at_ = step_;
}

void importance_switch::stepped(uint32_t rows, const importance_times& times) {
  ++step_;
  if (rows == 0)
    return;
  rows_ = rows;
  if (++since_ > steps_unmeasured) {
    if (on()) {
      forward_.add_time(times.scoring / rows);
      drawn_.add_time(times.gradient / draws(rows));
    } else {
      full_.add_time(times.gradient / rows);
      rest_.add_time(times.rest);
    }
  }
  const std::optional<double> now = cost();
  if (!now || since_ < steps_unmeasured + steps_measured)
    return;
  if (on_ && *now >= cost_off)
    turn(false);
  else if (!on_ && *now < cost_on && since_ >= wait_)
    turn(true);
}

std::optional<double> importance_switch::cost() const {
  const auto noise = noise_.value(), full = full_.value();
  if (!noise || !full)
    return std::nullopt;
  const double forward = forward_.value().value_or(*full * forward_part);
  const double drawn = drawn_.value().value_or(*full);
  const double rest = rest_.value().value_or(0);
  const double off = *full * rows_ + rest;
  if (!(off > 0))
    return std::nullopt;
  return *noise * (forward * rows_ + drawn * draws(rows_) + rest) / off;
}

void importance_switch::turn(bool on) {
  if (!on)
    wait_ = since_ < trial_steps ? std::clamp(4 * wait_, wait_least, wait_most)
                                 : wait_least;
  on_ = on;
  since_ = 0;
}

} // namespace ballast::sampling
