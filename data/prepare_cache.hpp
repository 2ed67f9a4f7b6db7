/// The folder of prepared sets:
///   KEY/            a set, complete or absent (renamed into place)
///   KEY.tmp/        one in the making, by the holder of its exclusive lock
///   locks/KEY       shared: in use; exclusive: being made or removed
///   sources/HASH    what a source file hashed to, by path, size, time, inode
/// Safe for many processes at once. Errors: ballast_error{run_dir_unusable,
/// disk_full} with the path.
#pragma once

#include "data/file_lock.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace ballast {

class prepare_cache {
public:
  /// Makes the folder where it is missing.
  explicit prepare_cache(std::filesystem::path folder);

  /// Hash of a source file's bytes; remembered, so that an unchanged file is
  /// read once.
  std::string hash_of(const std::string& path, const std::string& pointer);

  std::filesystem::path folder_of(const std::string& key) const;
  std::filesystem::path making_of(const std::string& key) const;
  file_lock lock_of(const std::string& key) const;

  /// The set was used now.
  void touch(const std::string& key) const;
  /// Removes the least recently used sets until all fit into `limit_bytes`,
  /// and what killed processes left unfinished; never what is in use.
  void evict(uint64_t limit_bytes) const;

private:
  std::filesystem::path folder_;
};

/// $BALLAST_CACHE_LIMIT_GB, default 20, in bytes.
uint64_t cache_limit_bytes();

/// Writes a whole small file, synced, replacing atomically.
void write_small_file(const std::filesystem::path& path,
                      const std::string& content);

} // namespace ballast
