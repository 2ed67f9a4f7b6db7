/// The folder that holds all files of one run; docs/ lists them. Users'
/// programs read them while the run goes on, therefore every file is either
/// appended by whole lines or replaced atomically.
///
/// The process that creates a run directory owns it: it holds a lock on
/// `run.lock` as long as it lives. Its children open the same path without the
/// lock. Any thread.
#pragma once

#include "store/atomic_file.hpp"
#include "store/file_lock.hpp"
#include "store/line_file.hpp"

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ballast::store {

class run_directory {
public:
  /// Creates BASE/NAME-N with the first free N. Throws ballast_error:
  /// run_dir_unusable, disk_full.
  static run_directory create(const std::filesystem::path& base,
                              const std::string& name);
  /// Creates exactly `folder` (--run-dir), which must be absent or empty.
  /// Throws also run_dir_in_use if a living process owns it.
  static run_directory create_at(const std::filesystem::path& folder);
  /// Takes over an existing one whose owner is dead, to continue its run.
  /// Throws run_dir_in_use, run_dir_unusable.
  static run_directory adopt(const std::filesystem::path& folder);
  /// Opens one that another process owns. Throws run_dir_unusable.
  static run_directory open(const std::filesystem::path& folder);

  /// Absolute.
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path file(const std::string& name) const {
    return path_ / name;
  }
  std::filesystem::path logs() const { return path_ / "logs"; }
  std::filesystem::path trace() const { return path_ / "trace"; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  /// Unfinished files; a rename publishes them.
  std::filesystem::path tmp() const { return path_ / "tmp"; }

  /// Replaces the file `name` by `content` (readable, indented) at once: a
  /// reader sees the old or the new one. Throws run_dir_unusable, disk_full.
  void write_json(const std::string& name, const nlohmann::json& content,
                  outlives durability = outlives::process) const;
  void write_json(const std::string& name,
                  const nlohmann::ordered_json& content,
                  outlives durability = outlives::process) const;
  /// The same of what `pieces` gives until it gives nothing; it may throw, and
  /// then there is no file.
  void write_file(const std::string& name,
                  const std::function<std::string()>& pieces,
                  outlives durability) const;
  /// The same for any bytes.
  void write_file(const std::string& name, std::string_view content,
                  outlives durability = outlives::process) const;

private:
  run_directory(std::filesystem::path path, file_lock lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  file_lock lock_; // none: not the owner
};

} // namespace ballast::store
