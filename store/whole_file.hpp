/// Writes a file as a whole, for a user: nobody sees half of it
/// (atomic_file.hpp), and what fails is told as refuse_file.hpp tells it.
#pragma once

#include "store/atomic_file.hpp"

#include <filesystem>
#include <string_view>

namespace ballast::store {

/// Replaces what is there. Throws ballast_error: disk_full, run_dir_unusable.
void write_whole(const std::filesystem::path& place, std::string_view content,
                 outlives durability);

} // namespace ballast::store
