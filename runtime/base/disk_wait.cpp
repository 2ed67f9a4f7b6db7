#include "runtime/base/disk_wait.hpp"

#include <utility>

namespace ballast {

bool disk_wait::failed(const std::string& message, instant now,
                       std::chrono::seconds patience) {
  if (!std::exchange(waiting_, true))
    since_ = now;
  tried_ = now;
  patience_ = patience;
  message_ = message;
  if (now - since_ < patience)
    return true;
  waiting_ = false;
  return false;
}

disk_wait::instant disk_wait::over(instant now) {
  return std::exchange(waiting_, false) ? now - since_ : instant{0};
}

std::string disk_wait::sentence() const {
  if (!waiting_)
    return {};
  return "disk full: " + message_ + ": the run waits for it up to " +
         std::to_string(patience_.count()) + " s (elastic.grace_s)";
}

} // namespace ballast
