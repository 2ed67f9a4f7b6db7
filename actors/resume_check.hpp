/// What `--resume` finds in a folder, before anything in it is touched.
#pragma once

#include "store/journal.hpp"

#include <filesystem>
#include <optional>

namespace ballast::actors {

/// The journal of a run that began; nothing where it was killed before its data
/// were prepared: then nothing can have been lost, and it starts from the
/// beginning. Throws run_dir_unusable, naming the file, where the folder holds
/// no run, or lacks what the run cannot go on without. Changes nothing.
std::optional<store::journal_content>
look_for_run(const std::filesystem::path& folder);

/// Whether a life can read and write what it needs, before it opens the journal
/// for writing. Throws run_dir_unusable, naming the file; also where the run is
/// done.
void check_past_files(const std::filesystem::path& folder);

/// Why this build cannot go on with the run, or nothing.
std::string other_build(const store::journaled_run& run,
                        const std::string& build);

} // namespace ballast::actors
