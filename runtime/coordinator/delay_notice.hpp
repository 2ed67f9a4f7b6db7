/// Why a run does not go on just now: in its status until it does, and once in
/// events.jsonl. Begun anew with each run; pure.
#pragma once

#include "runtime/base/instant.hpp"

#include <optional>
#include <string>

namespace ballast::coordinator {

class delay_notice {
public:
  /// Empty: nothing is said to hold it up.
  const std::string& why() const { return why_; }
  /// False if that was said before.
  bool say(const std::string& why) {
    if (why_ == why)
      return false;
    why_ = why;
    return true;
  }
  void over() { why_.clear(); }

  /// How long the run has been without enough workers, as ticks see it.
  instant without_workers(bool waits, instant now) {
    if (!waits)
      since_.reset();
    else if (!since_)
      since_ = now;
    return waits ? now - *since_ : instant{0};
  }

private:
  std::string why_;
  std::optional<instant> since_;
};

} // namespace ballast::coordinator
