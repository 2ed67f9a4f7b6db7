/// What must outlive the machine's power, on the disk.
#pragma once

#include <filesystem>

namespace ballast {

/// Syncs a file or folder; what is not there needs none, and some file systems
/// cannot sync a folder. Throws ballast_error: disk_full, run_dir_unusable.
void sync_path(const std::filesystem::path& path);

} // namespace ballast
