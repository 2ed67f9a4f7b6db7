/// Reports a process that is stopped (SIGSTOP, Ctrl-Z) while others wait for
/// it. The waiting side prints the sentence, so that users see the cause. Pure.
#pragma once

#include "runtime/base/instant.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace ballast {

class standstill {
public:
  /// Shorter stops are not reported.
  static constexpr std::chrono::seconds tell_after{2};

  void begins(instant now) {
    since_ = now;
    told_ = false;
  }
  bool lasts() const { return since_.has_value(); }
  /// The process runs again. Returns the sentence to print about it.
  std::string ends(const std::string& who, instant now);
  /// The process is dead; nothing waits for it any more.
  void forget() { since_.reset(); }

  /// The sentence that is due now, returned once.
  std::string sentence(const std::string& who, instant now);

private:
  std::optional<instant> since_;
  bool told_ = false;
};

} // namespace ballast
