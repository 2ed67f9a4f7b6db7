/// A folder for rows that do not fit into memory, where nobody gave one: under
/// $TMPDIR or /tmp, for this user alone, removed with its owner.
///
/// Its owner holds a lock on it, which ends with the process, however that
/// ends. So whoever makes one first removes those that nobody holds any more.
/// One owner; may move between threads. Errors: ballast_error{run_dir_unusable,
/// disk_full} with the folder.
#pragma once

#include "runtime/base/unique_fd.hpp"
#include "store/unfinished.hpp"

#include <filesystem>

namespace ballast::data {

class rows_folder {
public:
  /// None.
  rows_folder() = default;
  static rows_folder make();
  rows_folder(rows_folder&& other) noexcept;
  rows_folder& operator=(rows_folder&& other) noexcept;
  ~rows_folder();

  /// Empty: none.
  const std::filesystem::path& path() const { return path_; }

private:
  rows_folder(std::filesystem::path path, unique_fd lock)
      : path_(std::move(path)), lock_(std::move(lock)), made_(path_) {}
  void remove() noexcept;

  std::filesystem::path path_;
  unique_fd lock_; // of the folder itself
  store::unfinished made_;
};

} // namespace ballast::data
