/// `ballast audit --replay RUN_DIR`: trains a reproducible run once more, on
/// one worker, and compares.
#pragma once

#include "cli/commands/replay_comparison.hpp"

#include <filesystem>

namespace ballast::cli {

/// Uses the run's job, its data where the job says, and a folder for temporary
/// files that is removed. Throws ballast_error: invalid_job where the run is
/// not reproducible, or the data are others; run_dir_unusable, also where
/// another build has trained it; stopped; internal with the words of the other
/// run where that fails.
replay_report replay_run(const std::filesystem::path& folder);

} // namespace ballast::cli
