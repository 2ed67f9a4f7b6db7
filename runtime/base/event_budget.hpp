/// A rate limit for one kind of event, so that a fast run cannot fill
/// events.jsonl with it: the first ones are written at once, later ones at a
/// bounded rate.
#pragma once

#include <algorithm>
#include <chrono>

namespace ballast {

class event_budget {
public:
  /// `burst`: how many are written without a delay; over an hour 36 more are.
  explicit event_budget(double burst = 12) : burst_(burst), left_(burst) {}
  static constexpr std::chrono::seconds every{100};

  /// True if the caller may write an event now.
  bool take(std::chrono::nanoseconds now) {
    if (now > last_)
      left_ =
          std::min(burst_, left_ + std::chrono::duration<double>(now - last_) /
                                       std::chrono::duration<double>(every));
    last_ = now;
    if (left_ < 1)
      return false;
    left_ -= 1;
    return true;
  }

private:
  double burst_;
  double left_;
  std::chrono::nanoseconds last_ = std::chrono::nanoseconds::max(); // none
};

} // namespace ballast
