#include "data/store/host_memory.hpp"

#include "runtime/base/size_variables.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

namespace ballast::data {

namespace {

namespace fs = std::filesystem;

/// If the kernel reports nothing at all.
constexpr uint64_t unknown_bytes = uint64_t{4} << 30;

/// The value of a line "key value ..." (or "key: value kB", in KiB).
std::optional<uint64_t> value_in(const fs::path& file, const std::string& key) {
  std::ifstream in(file);
  std::string word;
  while (in >> word)
    if (uint64_t out = 0; word == key && in >> out)
      return out;
  return std::nullopt;
}

/// nullopt also for "max".
std::optional<uint64_t> number_in(const fs::path& file) {
  std::ifstream in(file);
  uint64_t out = 0;
  if (in >> out)
    return out;
  return std::nullopt;
}

/// The files of a cgroup that hold its limit and its usage.
struct group_files {
  const char* limit;
  const char* used;
};

/// The rest below one limit; the page cache does not count as used.
std::optional<uint64_t> left_in(const fs::path& folder, group_files names) {
  const auto most = number_in(folder / names.limit);
  if (!most)
    return std::nullopt;
  uint64_t now = number_in(folder / names.used).value_or(0);
  now -= std::min(
      now, value_in(folder / "memory.stat", "inactive_file").value_or(0));
  return *most - std::min(*most, now);
}

std::optional<uint64_t> limit_in(const fs::path& folder, group_files names) {
  return number_in(folder / names.limit);
}

using measure = std::optional<uint64_t> (*)(const fs::path&, group_files);

/// Limits of all ancestor groups count, too.
void limit_by(uint64_t& out, fs::path folder, const fs::path& top,
              group_files names, measure of) {
  for (;; folder = folder.parent_path()) {
    out = std::min(out, of(folder, names).value_or(out));
    if (folder == top || folder.parent_path() == folder)
      return;
  }
}

/// The least of `out` and the rest of every group of this process.
uint64_t limited_by_groups(uint64_t out, const fs::path& root, measure of) {
  const fs::path top = root / "sys/fs/cgroup";
  std::ifstream groups(root / "proc/self/cgroup"); // "0::/path", "4:memory:/.."
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      continue;
    const std::string kind = line.substr(first + 1, second - first - 1);
    const std::string path = fs::path(line.substr(second + 1)).relative_path();
    if (kind.empty())
      limit_by(out, path.empty() ? top : top / path, top,
               {"memory.max", "memory.current"}, of);
    else if (kind == "memory")
      limit_by(out, path.empty() ? top / "memory" : top / "memory" / path,
               top / "memory",
               {"memory.limit_in_bytes", "memory.usage_in_bytes"}, of);
  }
  return out;
}

} // namespace

uint64_t available_memory_bytes(const fs::path& root) {
  const size_setting told = read_memory(std::getenv(memory_variable));
  if (told.mistake)
    throw ballast_error(told.mistake);
  if (told.bytes)
    return *told.bytes;
  const auto kib = value_in(root / "proc/meminfo", "MemAvailable:");
  return limited_by_groups(kib ? *kib * 1024 : unknown_bytes, root, left_in);
}

void check_memory_for(uint64_t rows, uint64_t row_bytes,
                      const std::string& pointer, const fs::path& root) {
  constexpr uint64_t always_there = uint64_t{16} << 20;
  const uint64_t wanted = rows * row_bytes;
  if (wanted <= always_there)
    return;
  // Something is left for what goes on meanwhile.
  if (const uint64_t free = available_memory_bytes(root);
      wanted + wanted / 2 > free)
    throw ballast_error(
        errc::invalid_data,
        "the set has " + std::to_string(rows) +
            " rows or more, which take another " +
            std::to_string(wanted >> 20) +
            " MB of memory beside their values, and this process may use " +
            std::to_string(free >> 20) +
            " MB more; prepare it where there is more, or put more values "
            "into a row",
        pointer);
}

uint64_t total_memory_bytes(const fs::path& root) {
  const auto kib = value_in(root / "proc/meminfo", "MemTotal:");
  return limited_by_groups(kib ? *kib * 1024 : UINT64_MAX, root, limit_in);
}

} // namespace ballast::data
