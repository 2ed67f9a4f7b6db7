/// A file, or a folder, on its way to its name: it is written as
/// NAME.PID.partial, and appears under its name when it is complete.
///
/// Its maker holds a lock on it, which ends with the process, however that
/// ends; so whoever makes the same again first removes what is left of others.
/// Several appear together: a note beside the first, NAME.PID.set.partial, says
/// meanwhile which they are, so that what a process leaves that was killed
/// between two of them is removed, too, as long as nobody has changed it.
///
/// One owner, one thread. Errors: ballast_error{run_dir_unusable, disk_full}
/// with the path; {usage} of a name that is taken.
#pragma once

#include "runtime/base/unique_fd.hpp"
#include "store/unfinished.hpp"

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ballast::data {

class partial_path {
public:
  enum class kind : uint8_t { file, folder };

  /// Makes it, empty.
  partial_path(std::filesystem::path place, kind what);
  partial_path(partial_path&&) = default;
  partial_path& operator=(partial_path&&) = delete;
  /// Removes it, if it was not published.
  ~partial_path();

  /// Where it is now.
  const std::filesystem::path& path() const { return path_; }
  /// Where it will be.
  const std::filesystem::path& place() const { return place_; }

  /// All of them appear, or none does. They are complete and synced.
  static void publish(const std::vector<partial_path*>& all);
  /// Removes what killed processes left of the output with this name.
  static void remove_left_over(const std::filesystem::path& place);

private:
  void appear();
  void disappear() noexcept;

  std::filesystem::path place_;
  std::filesystem::path path_;
  kind what_;
  unique_fd lock_; // of itself
  store::unfinished made_;
  store::unfinished shown_; // under its name, until all of a set are
  bool published_ = false;
};

/// Refuses a name that is taken.
void check_free(const std::filesystem::path& place, partial_path::kind what);

} // namespace ballast::data
