/// Repairs a line file after a power cut, which may leave half a line, zeros,
/// or blocks that never reached the disk. A run continues from the intact
/// lines; the rest is kept in another file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ballast::store {

struct damaged_tail {
  std::filesystem::path kept; // FILE.damaged-K
  uint64_t line = 0;          // the first damaged line, from 1
  uint64_t bytes = 0;
  std::string why;
};

/// FILE.damaged-K with the first free K.
std::filesystem::path damaged_name(const std::filesystem::path& file);

/// Every line must be a JSON object whose `key` is its number, from 1.
/// Everything from the first line that is not moves to FILE.damaged-K. Returns
/// nothing if all lines are intact, or the file does not exist. Throws
/// disk_full, run_dir_unusable, and then changes nothing.
std::optional<damaged_tail> cut_damaged_tail(const std::filesystem::path& file,
                                             const char* key);

} // namespace ballast::store
