/// A copy of the journal of a run that goes on: one file, as of one moment.
#pragma once

#include <filesystem>

namespace ballast::store {

/// Of the journal in `folder`, into the file `to`, which is not there. Waits
/// for nobody, and nobody waits for it. Throws run_dir_unusable, disk_full.
void copy_journal(const std::filesystem::path& folder,
                  const std::filesystem::path& to);

} // namespace ballast::store
