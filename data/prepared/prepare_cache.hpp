/// The folder of prepared sets:
///   KEY/            a set, complete or absent (renamed into place); sets of
///   the
///                   same rows in the same order have one file of them
///                   or the rows of a node of a graph (cached_nodes.hpp)
///   KEY.tmp/        one being prepared, by the holder of its exclusive lock
///   KEY.damaged-K/  set aside because its checksums failed; the newest few
///                   are kept for analysis
///   locks/KEY       shared: in use; exclusive: being prepared or removed
///   sources/HASH    hash of a source file, by path, size, time, inode
///   rows/HASH       sets that were made of the same rows, the newest first
///   input/HASH.csv  rows that came by standard input (kept_input.hpp)
///   fragments/KEY   a file of a source, read, until its set is made; who uses
///                   any holds locks/fragments, shared
/// Safe for many processes at once. The folder must belong to this user and be
/// writable by no other. Errors: ballast_error{run_dir_unusable, disk_full}
/// with the path.
#pragma once

#include "data/source/image_folder.hpp"
#include "store/file_lock.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace ballast::data {

/// Throws the ballast_error for a write that failed with this errno.
[[noreturn]] void refuse_write(const std::filesystem::path& path, int number);
/// Takes a lock of the cache; false if others held it until `wait` was over.
bool take(store::file_lock& lock, store::file_lock::mode as,
          std::chrono::milliseconds wait = {},
          const store::work_watch& stop = {});

/// Since 1970; 0: there is no such file.
int64_t modified_ns(const std::filesystem::path& path);

class prepare_cache {
public:
  /// Creates the folder if it is missing, for this user alone; refuses one that
  /// others can write to.
  explicit prepare_cache(std::filesystem::path folder);

  /// Hash of a source file's bytes; remembered, so that an unchanged file is
  /// read once.
  std::string hash_of(const std::string& path, const std::string& pointer,
                      const store::work_watch& stop = {});
  /// One hash of all files of a folder: their names and bytes. Remembered as a
  /// whole, until one of them changes.
  std::string hash_of(const image_folder& folder, const std::string& pointer,
                      const store::work_watch& stop = {});

  /// The sets noted for these rows, whether or not they are still there.
  std::vector<std::string> sets_of_rows(const std::string& rows_key) const;
  /// As far as the disk allows.
  void note_rows(const std::string& rows_key, const std::string& key) const;

  std::filesystem::path folder_of(const std::string& key) const;
  std::filesystem::path making_of(const std::string& key) const;
  std::filesystem::path lock_path_of(const std::string& key) const;
  store::file_lock lock_of(const std::string& key) const;

  /// Moves a damaged set, together with its lock, to KEY.damaged-K, so that its
  /// users do not block the process that prepares it again. Returns the new
  /// path; nothing if another process was faster.
  std::filesystem::path set_aside(const std::string& key,
                                  const store::file_lock& held) const;
  /// Where the fragment of this key lies, in a folder that is there.
  std::filesystem::path fragment_path(const std::string& key) const;
  /// As long as it lives no fragment is removed by evict() or clear().
  std::shared_ptr<store::file_lock> use_fragments() const;
  /// These are needed no more. Others go, too, if nobody uses any and they were
  /// left long ago or unfinished.
  void remove_fragments(const std::vector<std::string>& keys) const;

  /// Marks the set as used now.
  void touch(const std::string& key) const;
  /// Removes the least recently used sets until all fit into `limit_bytes`, and
  /// leftovers of killed processes; never a set in use.
  void evict(uint64_t limit_bytes) const;

  /// One folder of the cache, complete or not.
  struct entry {
    std::string name;   // KEY, KEY.tmp, KEY.damaged-K, or that of all fragments
    uint64_t bytes = 0; // without files that an entry has that goes later
    int64_t used_ns = 0; // since 1970
    bool in_use = false; // by a living process
    bool whole() const { return name.size() == key_length; }
  };
  static constexpr const char* fragments_name = "fragments";
  static constexpr size_t key_length = 16;
  /// The name of a whole set, which is no way out of the cache.
  static bool is_key(const std::string& name);
  /// Of all that decides the content.
  static std::string key_of(const nlohmann::json& identity);
  /// The least recently used first.
  std::vector<entry> entries() const;
  /// Removes everything that no living process uses: sets, leftovers, and sets
  /// put aside. Returns the rest.
  std::vector<entry> clear() const;

private:
  bool remove(const std::string& name) const;
  std::filesystem::path memo_of(const std::string& full_path) const;
  std::optional<uint64_t> known_hash(const image_folder& folder,
                                     const image_file& one) const;

  std::filesystem::path folder_;
  /// Of files of image folders, by name and stamp: who hashed all of a folder
  /// asks for its parts next.
  std::unordered_map<uint64_t, uint64_t> hashes_;
};

/// $BALLAST_CACHE_LIMIT_GB, default 20, in bytes; ballast_error{usage} if it is
/// not a valid number.
uint64_t cache_limit_bytes();

/// Writes a small file as a whole: synced, replaced atomically.
void write_small_file(const std::filesystem::path& path,
                      const std::string& content);

} // namespace ballast::data
