/// Parses the environment variables that hold sizes. Pure; the caller reads the
/// environment.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstdint>
#include <optional>

namespace ballast {

constexpr const char* cache_limit_variable = "BALLAST_CACHE_LIMIT_GB";
constexpr const char* memory_variable = "BALLAST_MEMORY_MB";

/// Neither a value nor a mistake if the variable is unset (nullptr) or empty.
struct size_setting {
  std::optional<uint64_t> bytes;
  failure mistake; // errc::usage
};

/// BALLAST_CACHE_LIMIT_GB: gigabytes; 0 and fractions are allowed.
size_setting read_cache_limit(const char* text);
/// BALLAST_MEMORY_MB: whole MiB, at least one.
size_setting read_memory(const char* text);

} // namespace ballast
