/// How often `ballast run` starts another coordinator for one that died, and
/// how long it waits before. Pure.
#pragma once

#include "runtime/base/instant.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ballast {

class restart_limit {
public:
  /// The first one within a minute starts at once; the wait then doubles.
  static constexpr std::chrono::milliseconds wait_least{100};
  static constexpr std::chrono::milliseconds wait_most{5000};
  static constexpr std::chrono::seconds calm{60};
  /// Deaths within this window that end the run.
  static constexpr size_t deaths_max = 20;
  static constexpr std::chrono::minutes window{10};
  /// Coordinators in a row that died before they were ready.
  static constexpr size_t unready_max = 5;

  void ready() { unready_ = 0; }
  void died(instant now);
  /// Before the next one starts.
  std::chrono::milliseconds wait() const;
  /// Why no other one is to be started; empty: it is.
  std::string exceeded() const;

private:
  std::vector<instant> deaths_; // within the window, ascending
  size_t unready_ = 0;          // in a row; this life included
};

} // namespace ballast
