/// The end of a run as `ballast run` reports it.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace ballast::cli {

struct outcome {
  int exit_code = 1;
  std::string reason;
  std::string folder;
  nlohmann::json report;  // null: there is none
  bool discarded = false; // it never began: its files are removed
};

/// Read from its report, if the coordinator can no longer send it; nothing if
/// there is no report: the run is not over. `interrupted`: by Ctrl-C or
/// SIGTERM.
std::optional<outcome> outcome_of(const std::string& folder, bool interrupted);

/// Prints the last lines of `ballast run`: the summary, or its report alone; on
/// stderr the command that goes on with the run, a line of its own, if it was
/// stopped and `resume` is not empty; and as the last line why it did not end.
void tell(const outcome& how, bool json, const std::string& resume = "");

/// As a user here would name it: relative where it is below.
std::string shown_folder(const std::string& folder);

/// Distinguishes a report in that folder from one of an earlier life; empty:
/// none.
std::string stamp_of_report(const std::string& folder);

/// A run has begun in that folder, however short it was.
bool holds_run(const std::string& folder);

} // namespace ballast::cli
