/// `ballast audit --replay RUN_DIR`: trains a reproducible run once more, on
/// one worker, and compares.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ballast::cli {

struct replay_report {
  uint64_t steps = 0;            // of the run
  uint64_t losses_compared = 0;  // of as many of them
  uint64_t digests_compared = 0; // after as many of them
  uint64_t digests_due = 0;      // more: the run's file lacks some
  std::string weights_sha256;    // of both; empty: the run has no model
  /// What differs, the first step and tensor first; empty: nothing.
  std::vector<std::string> problems;
};

/// Uses the run's job, its data where the job says, and a folder for temporary
/// files that is removed. Throws ballast_error: invalid_job where the run is
/// not reproducible, or the data are others; run_dir_unusable, also where
/// another build has trained it; stopped; internal with the words of the other
/// run where that fails.
replay_report replay_run(const std::filesystem::path& folder);

} // namespace ballast::cli
