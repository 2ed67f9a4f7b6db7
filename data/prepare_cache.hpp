/// The folder of prepared sets:
///   KEY/            a set, complete or absent (renamed into place)
///   KEY.tmp/        one in the making, by the holder of its exclusive lock
///   KEY.damaged-K/  set aside because its bytes are not what was written; the
///                   newest few are kept, for whoever looks for the reason
///   locks/KEY       shared: in use; exclusive: being made or removed
///   sources/HASH    what a source file hashed to, by path, size, time, inode
/// Safe for many processes at once; the folder must belong to this user, and to
/// nobody else's pen. Errors: ballast_error{run_dir_unusable, disk_full} with
/// the path.
#pragma once

#include "store/file_lock.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ballast {

/// Throws the ballast_error for a write that failed with this errno.
[[noreturn]] void refuse_write(const std::filesystem::path& path, int number);

class prepare_cache {
public:
  /// Makes the folder where it is missing, for this user alone; refuses one
  /// that others can write to.
  explicit prepare_cache(std::filesystem::path folder);

  /// Hash of a source file's bytes; remembered, so that an unchanged file is
  /// read once.
  std::string hash_of(const std::string& path, const std::string& pointer,
                      const work_watch& stop = {});

  std::filesystem::path folder_of(const std::string& key) const;
  std::filesystem::path making_of(const std::string& key) const;
  std::filesystem::path lock_path_of(const std::string& key) const;
  file_lock lock_of(const std::string& key) const;

  /// A set whose bytes are not what was written: keeps it as KEY.damaged-K,
  /// together with its lock, so that whoever still uses it does not hold up who
  /// makes it again. Nothing where another process was quicker. The new place.
  std::filesystem::path set_aside(const std::string& key,
                                  const file_lock& held) const;
  /// The set was used now.
  void touch(const std::string& key) const;
  /// Removes the least recently used sets until all fit into `limit_bytes`,
  /// and what killed processes left unfinished; never what is in use.
  void evict(uint64_t limit_bytes) const;

  /// One folder of the cache, whole or not.
  struct entry {
    std::string name; // KEY, KEY.tmp, KEY.damaged-K
    uint64_t bytes = 0;
    int64_t used_ns = 0; // since 1970
    bool in_use = false; // by a living process
    bool whole() const { return name.size() == key_length; }
  };
  static constexpr size_t key_length = 16;
  /// The least recently used first.
  std::vector<entry> entries() const;
  /// Removes what no living process uses: sets, and what was left unfinished or
  /// set aside. What is still there.
  std::vector<entry> clear() const;

private:
  bool remove(const std::string& name) const;

  std::filesystem::path folder_;
};

/// $BALLAST_CACHE_LIMIT_GB, default 20, in bytes; ballast_error{usage} where it
/// is no such number.
uint64_t cache_limit_bytes();

/// Writes a whole small file, synced, replacing atomically.
void write_small_file(const std::filesystem::path& path,
                      const std::string& content);

} // namespace ballast
