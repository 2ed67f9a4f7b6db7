/// A lock between processes: flock on a file of its own. The kernel releases it
/// when the object or its process ends, however it ends.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <chrono>
#include <filesystem>
#include <stop_token>

namespace ballast {

class file_lock {
public:
  file_lock() = default;
  /// Opens or creates the file; locks nothing. ballast_error{run_dir_unusable}.
  explicit file_lock(const std::filesystem::path& path);

  enum class mode : uint8_t { shared, exclusive };
  /// Takes the lock, or converts the held one to another mode (which releases
  /// it for a moment). False if others held it throughout `wait`. `stop` ends
  /// the wait with ballast_error{stopped}.
  bool take(mode as, std::chrono::milliseconds wait,
            const std::stop_token& stop = {});
  /// False after the file was renamed or replaced: the lock then does not
  /// protect the file at this path.
  bool is_at(const std::filesystem::path& path) const;
  void release();

private:
  unique_fd file_;
};

} // namespace ballast
