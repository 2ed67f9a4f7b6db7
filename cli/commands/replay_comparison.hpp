/// What two runs of one reproducible job have in common: the run, and the one
/// that trained it again. Reads their folders; any thread.
#pragma once

#include "runtime/base/ids.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ballast::cli {

struct replay_report {
  uint64_t steps = 0;            // of the run
  uint64_t losses_compared = 0;  // of as many of them
  uint64_t tests_compared = 0;   // of the test part, after as many epochs
  uint64_t digests_compared = 0; // after as many of them
  uint64_t digests_due = 0;      // more: the run's file lacks some
  std::string weights_sha256;    // of both; empty: the run has not ended
  std::vector<std::string> compared_files; // whose parameters were compared
  /// What differs, the first step and tensor first; empty: nothing.
  std::vector<std::string> problems;
};

/// The last step of steps.jsonl: that of a run that was killed may be ahead of
/// its ledger. Throws as compare_runs().
step_number last_step(const std::filesystem::path& folder);

/// The job was done to its end.
bool has_ended(const std::filesystem::path& folder);

/// Parameters that a run left in a file.
struct left_behind {
  std::filesystem::path file; // a model, or the state of a checkpoint
  step_number after{};        // 0: it does not say
};
/// What is compared by the digests after these steps: the models and the newest
/// checkpoint; of a run that has ended only what report.json has no hash of.
std::vector<left_behind> what_it_left(const std::filesystem::path& folder,
                                      step_number committed);

/// `run` has trained again what `folder` holds, with digests after the steps of
/// `left`. Throws ballast_error{run_dir_unusable}, which names file and line.
void compare_runs(const std::filesystem::path& folder,
                  const std::filesystem::path& run,
                  const std::vector<left_behind>& left, replay_report& out);

} // namespace ballast::cli
