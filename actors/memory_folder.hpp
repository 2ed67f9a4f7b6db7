/// The folder of a run's checkpoints in memory: on the file system /dev/shm of
/// this host, named by the run directory and the user, and open to nobody else.
/// The file `run` in it names that directory. Whoever uses it holds a lock on
/// it, so that no other process takes it for one that a dead one left. Owned by
/// run_checkpoints; any thread, one at a time.
///
/// Errors: ballast_error{run_dir_unusable}, names the folder.
#pragma once

#include "store/file_lock.hpp"

#include <cstdint>
#include <filesystem>

namespace ballast::actors {

class memory_folder {
public:
  explicit memory_folder(const std::filesystem::path& run_directory,
                         std::filesystem::path memory = "/dev/shm");

  const std::filesystem::path& path() const { return path_; }
  /// It is there, and a folder of this user.
  bool is_mine() const;
  /// True if it is there, and is ours from here on. Throws where it belongs to
  /// another user, or another process uses it.
  bool take();
  /// Makes it, if two states of so many bytes fit into the memory of this host;
  /// what lies in it already counts. Throws also invalid_job, with the numbers,
  /// at /checkpoint/memory_every_s.
  void open(uint64_t state_bytes);
  /// Where somebody has removed it since, it is made again. After open().
  void make_again();
  /// With all that is in it, if it is ours.
  void remove();

private:
  void check_room(uint64_t state_bytes) const;
  void make();

  std::filesystem::path run_;
  std::filesystem::path memory_;
  std::filesystem::path path_;
  store::file_lock lock_;
  bool ours_ = false;
};

} // namespace ballast::actors
