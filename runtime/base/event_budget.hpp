/// Keeps a kind of event that a quick run repeats from filling events.jsonl:
/// the first ones are written, later ones at most every so often.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace ballast {

class event_budget {
public:
  /// So many are written at once; of a run of an hour 36 more are.
  explicit event_budget(double burst = 12) : burst_(burst), left_(burst) {}
  static constexpr std::chrono::seconds every{100};

  /// Whether one is written now.
  bool take(std::chrono::nanoseconds now) {
    if (last_ && now > *last_)
      left_ =
          std::min(burst_, left_ + std::chrono::duration<double>(now - *last_) /
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
  std::optional<std::chrono::nanoseconds> last_;
};

} // namespace ballast
