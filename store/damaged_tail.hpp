/// What a power cut leaves at the end of a file of lines: half a line, zeros,
/// or blocks that never reached the disk. A run goes on from what is whole; the
/// rest is kept beside it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ballast {

struct damaged_tail {
  std::filesystem::path kept; // FILE.damaged-K
  uint64_t line = 0;          // the first that is damaged, from 1
  uint64_t bytes = 0;
  std::string why;
};

/// FILE.damaged-K with the first free K.
std::filesystem::path damaged_name(const std::filesystem::path& file);

/// Every line must be a JSON object whose `key` is its number, from 1. From the
/// first that is not, everything moves to FILE.damaged-K. Nothing where all is
/// well, or no file is there. Throws disk_full, run_dir_unusable; nothing is
/// changed then.
std::optional<damaged_tail> cut_damaged_tail(const std::filesystem::path& file,
                                             const char* key);

} // namespace ballast
