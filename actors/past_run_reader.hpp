/// Reads what an earlier life of a coordinator left of a run: the journal and
/// steps.jsonl. events.jsonl is for people.
#pragma once

#include "runtime/coordinator/past_run.hpp"
#include "store/journal.hpp"

#include <filesystem>
#include <string>

namespace ballast::actors {

/// Throws ballast_error{run_dir_unusable} where the run ended before its data
/// were prepared, or a file is damaged.
coordinator::past_run read_past_run(const std::filesystem::path& folder,
                                    const store::journal_content& journal);

/// The job that the run began with. Throws run_dir_unusable, invalid_job.
job begun_as(const store::journaled_run& run);

/// Why `asked` cannot go on with a run that began as `begun`, or nothing: only
/// what says how to run may differ, not what is learned.
std::string cannot_go_on(const job& begun, const job& asked);
/// `asked`, with what it leaves open decided as when the run began.
job as_begun(const job& begun, job asked);

} // namespace ballast::actors
