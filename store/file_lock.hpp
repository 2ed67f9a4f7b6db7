/// A lock between processes: flock on a file of its own. Freed when the object
/// or its process ends, however it ends.
#pragma once

#include "runtime/base/unique_fd.hpp"
#include "store/work_watch.hpp"

#include <chrono>
#include <filesystem>

namespace ballast {

class file_lock {
public:
  file_lock() = default;
  /// Opens or makes the file; locks nothing. ballast_error{run_dir_unusable}.
  explicit file_lock(const std::filesystem::path& path);

  enum class mode : uint8_t { shared, exclusive };
  /// Takes the lock, or turns the one it has into another (which lets go of it
  /// for a moment). False if others held it until `wait` was over.
  /// `stop` ends the waiting with ballast_error{stopped}.
  bool take(mode as, std::chrono::milliseconds wait,
            const work_watch& stop = {});
  /// False once the file was renamed or replaced: then the lock says nothing
  /// about what others find under its name.
  bool is_at(const std::filesystem::path& path) const;
  void release();

private:
  unique_fd file_;
};

} // namespace ballast
