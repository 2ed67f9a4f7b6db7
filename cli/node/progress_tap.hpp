/// The progress line of `ballast run`, fed by the coordinator's ticks.
#pragma once

#include "monitor/logs/progress.hpp"
#include "runtime/coordinator/run_status.hpp"

#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

/// Used on the coordinator's thread.
class progress_tap {
public:
  explicit progress_tap(bool enabled);
  void tick(const coordinator::run_status& status);
  /// A line of its own on stderr, also without progress.
  void say(const std::string& line);
  /// The run has ended; `report` may be null.
  void finish(const nlohmann::json& report);

private:
  monitor::progress_printer printer_;
  monitor::progress_state last_;
};

} // namespace ballast::cli
