#include "runtime/base/restart_limit.hpp"

#include <algorithm>

namespace ballast {

void restart_limit::died(instant now) {
  std::erase_if(deaths_, [now](instant one) { return now - one > window; });
  deaths_.push_back(now);
  ++unready_;
}

std::chrono::milliseconds restart_limit::wait() const {
  auto recent =
      std::count_if(deaths_.begin(), deaths_.end(), [this](instant one) {
        return deaths_.back() - one <= calm;
      });
  if (recent <= 1)
    return std::chrono::milliseconds(0);
  std::chrono::milliseconds out = wait_least;
  for (auto i = recent; i > 2 && out < wait_most; --i)
    out *= 2;
  return std::min(out, wait_most);
}

std::string restart_limit::exceeded() const {
  if (unready_ >= unready_max)
    return std::to_string(unready_) +
           " coordinators in a row died before they were ready; what they said "
           "is above";
  if (deaths_.size() >= deaths_max)
    return "the coordinator died " + std::to_string(deaths_.size()) +
           " times within " + std::to_string(window.count()) +
           " minutes, which is the limit";
  return {};
}

} // namespace ballast
