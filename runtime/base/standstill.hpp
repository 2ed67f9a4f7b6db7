/// A process that stands still (SIGSTOP, Ctrl-Z) and for which others wait: who
/// waits says so before anybody wonders. Pure.
#pragma once

#include "runtime/base/instant.hpp"

#include <chrono>
#include <optional>
#include <string>

namespace ballast {

class standstill {
public:
  /// A shorter one is nobody's business.
  static constexpr std::chrono::seconds tell_after{2};

  void begins(instant now) {
    since_ = now;
    told_ = false;
  }
  bool lasts() const { return since_.has_value(); }
  /// It goes on; what there is to say of that.
  std::string ends(const std::string& who, instant now);
  /// It is dead: nobody waits any more.
  void forget() { since_.reset(); }

  /// The sentence that is due, once.
  std::string sentence(const std::string& who, instant now);

private:
  std::optional<instant> since_;
  bool told_ = false;
};

} // namespace ballast
