/// How a run ended, as `ballast run` tells it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace ballast {

struct outcome {
  int exit_code = 1;
  std::string reason;
  std::string folder;
  nlohmann::json report;  // null: there is none
  bool discarded = false; // it never began: its files are removed
};

/// By its report, where whoever wrote it cannot tell any more; nothing if there
/// is none: the run is not over. `interrupted`: by Ctrl-C or SIGTERM.
std::optional<outcome> outcome_of(const std::string& folder, bool interrupted);

/// The last words of `ballast run`: the summary, or its report alone.
void tell(const outcome& how, bool json);

/// Tells a report in that folder from one of an earlier life; empty: none.
std::string stamp_of_report(const std::string& folder);

/// A run has begun in that folder, however short it was.
bool holds_run(const std::string& folder);

} // namespace ballast
