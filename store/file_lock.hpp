/// A lock between processes: flock on a file of its own. Freed when the object
/// or its process ends, however it ends. Failures are errno values, since only
/// the caller knows what the file is for and what a user can do.
#pragma once

#include "runtime/base/unique_fd.hpp"
#include "store/work_watch.hpp"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace ballast::store {

class file_lock {
public:
  struct options {
    bool create = true;
    bool follow_links = true;
    uint32_t permissions = 0644; // of a file that is made
  };
  enum class mode : uint8_t { shared, exclusive };

  file_lock() = default;
  /// Opens or makes the file; locks nothing. Look at error().
  explicit file_lock(const std::filesystem::path& path);
  file_lock(const std::filesystem::path& path, const options& how);

  /// errno of the last call that failed for another reason than that somebody
  /// holds the lock; 0: none did.
  int error() const { return error_; }
  /// Takes the lock, or turns the one it has into the other kind (which gives
  /// it up for a moment). False if others held it until `wait` was over, or on
  /// an error. `stop` ends the wait with ballast_error{stopped}.
  bool take(mode as, std::chrono::milliseconds wait = {},
            const work_watch& stop = {});
  /// False after the file was renamed or replaced: the lock then does not
  /// protect the file at this path.
  bool is_at(const std::filesystem::path& path) const;

  /// Writes this process's id into the file, for the messages of others. The
  /// file is never empty meanwhile. False, with error(), if that fails.
  bool write_holder();
  /// "process 4711": by the kernel's list of locks; where that does not show
  /// it, by what the holder wrote into the file.
  std::string holder() const;

  explicit operator bool() const { return bool(file_); }

private:
  std::filesystem::path path_;
  unique_fd file_;
  int error_ = 0;
};

} // namespace ballast::store
