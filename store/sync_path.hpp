/// Makes files survive a power cut.
#pragma once

#include <filesystem>

namespace ballast::store {

/// Syncs a file or folder. Ignores missing paths, and file systems that cannot
/// sync a folder. Throws ballast_error: disk_full, run_dir_unusable.
void sync_path(const std::filesystem::path& path);

} // namespace ballast::store
