/// The error that a user sees when a file or folder of a run cannot be used:
/// the action, the path, the reason and, where there is one, the remedy. Pure.
#pragma once

#include <filesystem>
#include <string_view>

namespace ballast::store {

/// True for an errno that means that a space, quota or size limit is reached.
bool means_disk_full(int error_number);

/// Throws ballast_error: "cannot ACTION PATH: REASON". The code is disk_full
/// if a limit of space is reached, else run_dir_unusable. `otherwise` is the
/// remedy for reasons that have none of their own.
[[noreturn]] void refuse_file(const std::filesystem::path& path,
                              std::string_view action, int error_number,
                              std::string_view otherwise = {});

} // namespace ballast::store
