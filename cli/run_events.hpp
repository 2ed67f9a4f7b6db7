/// The events of a run, one JSON line each: as its coordinator tells them, or,
/// where none answers in a run directory, as they stand in its events.jsonl.
/// Used from the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::cli {

struct event_choice {
  uint64_t after = 0;             // only those with a greater number
  std::vector<std::string> kinds; // empty = all
  std::string since;              // "10m", "2026-11-28T20:00"; empty = all
};

/// Prints what is chosen of the events of `to`: http://HOST:PORT, or a run
/// directory. Returns when the run has ended. Throws ballast_error: usage for a
/// `since` that is no time, unreachable, run_dir_unusable.
int events_command(const std::string& to, const event_choice& which);

} // namespace ballast::cli
