/// A copy of a file, whole or not there. Any thread.
#pragma once

#include <filesystem>

namespace ballast::store {

/// Copies to `to`, which is absent. Why it failed, as an errno; 0: it is there.
int copy_whole(const std::filesystem::path& from,
               const std::filesystem::path& to);

} // namespace ballast::store
