/// Where the shared objects lie that belong to this program and are opened on
/// demand. Any thread.
#pragma once

#include <filesystem>
#include <vector>

namespace ballast::store {

/// In the order of search, each once: beside the file that contains this code,
/// beside the program, and in an installed tree's lib folder.
std::vector<std::filesystem::path> own_folders();

} // namespace ballast::store
