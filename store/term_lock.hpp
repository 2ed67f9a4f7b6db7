/// The lock that a coordinator holds on its run as long as it lives, so that
/// two processes can never write one journal. The kernel releases it with the
/// process, so a restarted coordinator need not clean up.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <filesystem>

namespace ballast {

/// Destroying the result releases the lock. Throws run_dir_in_use while another
/// process holds it, run_dir_unusable, disk_full.
unique_fd take_term_lock(const std::filesystem::path& file);

} // namespace ballast
