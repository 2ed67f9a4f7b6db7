/// Opens a prepared set of the cache and keeps it from being evicted.
#pragma once

#include "data/prepared_set.hpp"
#include "store/file_lock.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ballast {

/// As prepared_set::open; holds `in_use` as long as the set lives. `sources`
/// are the files as this job names them (equal content may lie elsewhere).
std::shared_ptr<prepared_set> open_held(const std::filesystem::path& folder,
                                        std::shared_ptr<file_lock> in_use,
                                        std::vector<std::string> sources);

/// Writes manifest.json with a checksum of its own.
void write_manifest(const std::filesystem::path& folder, const manifest& about);

/// Makes the damaged set again; gets what was found.
using set_maker =
    std::function<std::shared_ptr<prepared_set>(const std::string& why)>;

/// Reads from `now` until a chunk of it is damaged, then, once, from what
/// `make_again` gives, if that is the same set.
std::shared_ptr<prepared_set> repairing_set(std::shared_ptr<prepared_set> now,
                                            set_maker make_again);

} // namespace ballast
