/// Sizes that environment variables give: what their text says, or what is
/// wrong with it. Pure; whoever reads the environment passes the text on.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstdint>
#include <optional>

namespace ballast {

constexpr const char* cache_limit_variable = "BALLAST_CACHE_LIMIT_GB";
constexpr const char* memory_variable = "BALLAST_MEMORY_MB";

/// Neither where the variable is not set (nullptr), or empty.
struct size_setting {
  std::optional<uint64_t> bytes;
  failure mistake; // errc::usage
};

/// Of BALLAST_CACHE_LIMIT_GB: gigabytes, 0 too, fractions too.
size_setting read_cache_limit(const char* text);
/// Of BALLAST_MEMORY_MB: whole MiB, at least one.
size_setting read_memory(const char* text);

} // namespace ballast
