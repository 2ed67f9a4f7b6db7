/// How much memory a process may use on this host: what the kernel calls
/// available, or less where a container (cgroup, version 1 or 2) is limited.
#pragma once

#include <cstdint>
#include <filesystem>

namespace ballast {

/// BALLAST_MEMORY_MB in the environment takes its place; ballast_error{usage}
/// where that is no amount. `root` is where
/// /proc and /sys are; tests give another one.
uint64_t available_memory_bytes(const std::filesystem::path& root = "/");

/// What it may use at most, whatever else uses some now.
uint64_t total_memory_bytes(const std::filesystem::path& root = "/");

} // namespace ballast
