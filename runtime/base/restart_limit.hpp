/// How often `ballast run` restarts a coordinator that died, and how long it
/// waits before each restart. Pure.
#pragma once

#include "runtime/base/instant.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ballast {

class restart_limit {
public:
  /// The first restart within a minute is immediate; then the wait doubles.
  static constexpr std::chrono::milliseconds wait_least{100};
  static constexpr std::chrono::milliseconds wait_most{5000};
  static constexpr std::chrono::seconds calm{60};
  /// This many deaths within the window end the run.
  static constexpr size_t deaths_max = 20;
  static constexpr std::chrono::minutes window{10};
  /// This many coordinators in a row that die before they are ready end the
  /// run.
  static constexpr size_t unready_max = 5;

  void ready() { unready_ = 0; }
  void died(instant now);
  /// How long to wait before the next restart.
  std::chrono::milliseconds wait() const;
  /// Why there will be no further restart; empty if there will be one.
  std::string exceeded() const;

private:
  std::vector<instant> deaths_; // within the window, ascending
  size_t unready_ = 0;          // in a row; this life included
};

} // namespace ballast
