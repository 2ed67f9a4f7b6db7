/// Importance sampling of the rows of a step: of B rows the gradient of b is
/// computed, drawn by a score that says how much a row matters to the sum, and
/// each counts 1 / its chance. The sum is right on average, whatever the
/// scores; they only decide how far it is off.
///
/// Chance: with p_i = floor / B + (1 - floor) s_i / (sum of s), row i is drawn
/// with pi_i = min(1, c p_i), c such that they sum up to b; so pi_i >= b p_i.
/// The rows themselves: systematic sampling (Madow 1949; Hartley and Rao 1962),
/// which takes exactly b different rows with one random number. Rows of a take
/// are in a random order, as it demands.
///
/// Whether it pays: a step over all B rows has the noise of B rows, whose
/// square is proportional to the sum of s^2; drawing makes of it the sum of
/// s^2 / pi. Averaging makes up for noise at the price of time, so that
///
///   cost = (sum s^2 / pi) / (sum s^2)              more noise
///        x (forward B + both b + rest) / (both B + rest)   less time
///
/// is how much longer the same precision takes, where the noise decides; below
/// 1 it pays. (`forward`: of a row; `both`: forward and backward; `rest`: of
/// the step.) With equal scores the first factor is B / b, and it never does.
/// Where no pi is 1, the first factor is B / (b tau^2), tau^2 = B (sum s^2) /
/// (sum s)^2, the gain of arXiv:1803.00942.
///
/// Pure: times come in as arguments. The same scores and numbers give the same
/// rows anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ballast::sampling {

/// False if one is negative or not finite, or their squares have no finite sum.
bool are_scores(std::span<const float> scores);

/// pi of each row. Precondition: are_scores, 0 < draws <= rows, 0 < floor <= 1.
std::vector<double> chances_of(std::span<const float> scores, size_t draws,
                               double floor);

struct drawn_row {
  uint32_t row = 0; // ascending
  float weight = 1; // 1 / its chance
  bool operator==(const drawn_row&) const = default;
};
/// `unit` is uniform in [0, 1).
std::vector<drawn_row> draw_rows(std::span<const double> chances, double unit);

/// (sum s^2 / pi) / (sum s^2), from 1 on; of scores that are all 0 as if they
/// were equal.
double noise_ratio(std::span<const float> scores,
                   std::span<const double> chances);

struct importance_rule {
  double keep = 0.3; // b / B
  double floor = 0.1;
  bool always = false;     // never off
  uint32_t look_every = 8; // steps, while off
};

/// The times of one step of a worker, in seconds.
struct importance_times {
  double scoring = 0; // while on: forward passes over all rows, and the draw
  double gradient = 0;
  double rest = 0; // after it: reducing and the update
};

/// The decision of one worker: on while `cost` is below 1, off again by itself.
/// A trial that did not pay is repeated after four times as long as the last.
class importance_switch {
public:
  explicit importance_switch(const importance_rule& rule);

  bool on() const { return rule_.always || on_; }
  /// While off: the scores of this step, which its passes make anyway, should
  /// be shown.
  bool looks() const { return !on() && step_ % rule_.look_every == 0; }
  /// Of `rows`, those whose gradient is computed while on.
  uint32_t draws(uint32_t rows) const;

  /// The noise ratio of this step, if it were on.
  void scored(double noise);
  /// The end of a step with so many rows, in which it was on or off throughout.
  void stepped(uint32_t rows, const importance_times& times);
  /// As above, as far as it is measured; until then a forward pass is taken for
  /// a third of both.
  std::optional<double> cost() const;

private:
  /// Mean of what came, newer values with more weight.
  class recent_mean {
  public:
    /// What was known counts `old` from now on.
    void add(double value, double old);
    /// Likewise, but a value beyond twice the mean, as of a thread that lost
    /// its core, counts as that.
    void add_time(double value);
    std::optional<double> value() const;

  private:
    double sum_ = 0;
    double weight_ = 0;
  };

  void turn(bool on);

  importance_rule rule_;
  bool on_ = false;
  uint64_t step_ = 0;
  uint64_t scored_at_ = 0;
  uint64_t since_ = 0; // steps since it was last turned
  uint64_t wait_;      // steps before it is turned on again
  uint32_t rows_ = 0;  // of the last step
  recent_mean noise_;
  recent_mean forward_; // a row, seconds
  recent_mean full_;    // likewise, both passes while off
  recent_mean drawn_;   // while on
  recent_mean rest_;    // of a step while off: on, it waits for those who are
};

} // namespace ballast::sampling
