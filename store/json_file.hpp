/// Reads a small JSON file of a run directory in any state: truncated,
/// overwritten, or a folder in its place.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace ballast::store {

/// Its value; discarded if the file is missing, unreadable or not JSON.
nlohmann::json read_json_file(const std::filesystem::path& file);

} // namespace ballast::store
