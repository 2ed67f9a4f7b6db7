/// A folder for rows that do not fit into memory, where nobody gave one.
#pragma once

#include <filesystem>

namespace ballast::data {

/// Under $TMPDIR or /tmp, for this user alone. ballast_error{run_dir_unusable,
/// disk_full}.
std::filesystem::path make_temporary_folder();
/// With all in it; "": nothing happens.
void remove_temporary_folder(const std::filesystem::path& folder) noexcept;

} // namespace ballast::data
