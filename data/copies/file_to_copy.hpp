/// A file on its way into a copy (copy_place.hpp). Errors: ballast_error with
/// the path.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace ballast::data {

/// Whoever holds it can read the file, also once that has lost its name.
struct file_to_copy {
  std::string name; // in the copy: "state.safetensors", "run/steps.jsonl"
  std::filesystem::path path;
  unique_fd file;
  uint64_t bytes = 0; // from its beginning
};

/// Nothing where there is no such file.
std::optional<file_to_copy> open_to_copy(std::string name,
                                         const std::filesystem::path& path);
/// Up to the end of its last line: somebody appends to it.
void only_whole_lines(file_to_copy& what);
/// `bytes` of them from `at` on. Throws stale_generation where the file has
/// become shorter.
void read_part(const file_to_copy& what, uint64_t at, char* to, uint64_t bytes);

} // namespace ballast::data
