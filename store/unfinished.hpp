/// Files and folders that this process has half made. Whoever makes one removes
/// it on every way out; but a process that is ended at once has no way out, so
/// that the one who ends it removes them first. Any thread.
#pragma once

#include <filesystem>

namespace ballast::store {

/// One of them, until it goes out of scope: it is finished then, or removed.
class unfinished {
public:
  unfinished() = default;
  explicit unfinished(std::filesystem::path path);
  unfinished(unfinished&& other) noexcept;
  unfinished& operator=(unfinished&& other) noexcept;
  ~unfinished();

private:
  void forget() noexcept;
  std::filesystem::path path_; // empty: none
};

/// Removes all of them, as far as that can be done in a moment: the process
/// ends next.
void remove_unfinished() noexcept;

} // namespace ballast::store
