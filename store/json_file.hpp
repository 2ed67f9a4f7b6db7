/// Reads a small JSON file of a run directory as it is found there: half of it,
/// something else, or a folder in its place.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>

namespace ballast {

/// Its value; discarded where it is missing, cannot be read or is no JSON.
nlohmann::json read_json_file(const std::filesystem::path& file);

} // namespace ballast
