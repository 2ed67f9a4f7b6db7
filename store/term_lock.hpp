/// The lock that a coordinator holds on its run as long as it lives, so that
/// two processes can never write one journal. The kernel releases it with the
/// process, so a restarted coordinator need not clean up.
#pragma once

#include "store/file_lock.hpp"

#include <filesystem>

namespace ballast::store {

/// Whoever lets go of it gives the lock back. Throws run_dir_in_use while
/// another process holds it, run_dir_unusable, disk_full.
file_lock take_term_lock(const std::filesystem::path& file);

} // namespace ballast::store
