/// Opens a prepared set of the cache and keeps it from being evicted.
#pragma once

#include "data/file_lock.hpp"
#include "data/prepared_set.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ballast {

/// As prepared_set::open; takes over `in_use` and holds it as long as the set
/// lives, unless it throws. `sources` are the files as this job names them
/// (equal content may lie elsewhere).
std::shared_ptr<prepared_set> open_held(const std::filesystem::path& folder,
                                        file_lock& in_use,
                                        std::vector<std::string> sources);

} // namespace ballast
