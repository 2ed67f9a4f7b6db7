/// The progress line of `ballast run`, fed by the coordinator's ticks.
#pragma once

#include "monitor/logs/progress.hpp"
#include "runtime/coordinator/coordinator_core.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace ballast {

/// Used on the coordinator's thread.
class progress_tap {
public:
  explicit progress_tap(bool enabled);
  void tick(const coordinator_core& core);
  /// Prints a separate line on stderr, also without progress.
  void say(const std::string& line);
  /// The run has ended; `report` may be null.
  void finish(const nlohmann::json& report);

private:
  progress_printer printer_;
  progress_state last_;
};

} // namespace ballast
