/// How much memory a process may use on this host: the kernel's estimate of
/// available memory, or less if a container (cgroup, version 1 or 2) is
/// limited.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace ballast::data {

/// BALLAST_MEMORY_MB in the environment overrides it; ballast_error{usage} if
/// that is not a valid amount. `root` contains /proc and /sys; tests pass
/// another folder.
uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

/// Rather than be killed for it: throws ballast_error{invalid_data} at
/// `pointer` if a process may not use so much more for `rows` rows.
void check_memory_for(uint64_t rows, uint64_t row_bytes,
                      const std::string& pointer,
                      const std::filesystem::path& root = "/");

/// The most that it may use, whatever else is in use now.
uint64_t total_memory_bytes(const std::filesystem::path& root = "/");

} // namespace ballast::data
