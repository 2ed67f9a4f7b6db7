/// A place that holds copies of what one run saved: a folder of a store
/// (s3://, gs://, ...), or of a file system that outlives the run's disk. Each
/// copy is a folder in it, and is there once its manifest.json is, which names
/// all of its files with their sizes and checksums and is written last.
///
/// Streams: memory does not grow with the files. One thread at a time. Errors:
/// ballast_error{invalid_data} for what the user can correct (no permission, no
/// bucket, a damaged copy), unreachable for a store that does not answer after
/// retries of some seconds, disk_full and run_dir_unusable for the disks of
/// this machine, stopped.
#pragma once

#include "data/copies/copy_manifest.hpp"
#include "data/copies/file_to_copy.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// Who writes there.
struct copy_owner {
  std::string run;      // its name, for messages
  std::string identity; // tells it from all other runs
  uint64_t term = 0;    // of its coordinator: a later one has a greater one
};

class copy_place {
public:
  static constexpr const char* model_folder = "model";

  /// `uri`: as checkpoint.copy_to of a job has it. Asks nothing of the store,
  /// where the store allows that.
  explicit copy_place(const std::string& uri);
  ~copy_place();
  copy_place(const copy_place&) = delete;
  copy_place& operator=(const copy_place&) = delete;

  /// For messages: without a slash at its end, and without secrets.
  const std::string& name() const;

  /// Writes a small file there and removes it.
  void check_writable() const;
  /// Nothing: nobody has written there.
  std::optional<copy_owner> owner() const;
  void own(const copy_owner& who) const;

  /// What has this folder's name disappears; the folder fills with put() and
  /// becomes a copy with complete().
  void begin(const std::string& folder) const;
  copied_file put(const std::string& folder, const file_to_copy& what,
                  const store::work_watch& stop) const;
  /// `about`: what the manifest says besides its files.
  void complete(const std::string& folder, nlohmann::ordered_json about,
                const std::vector<copied_file>& files) const;
  /// It is no copy any more, and then it is gone.
  void remove(const std::string& folder) const;

  /// Those of checkpoints, ascending.
  std::vector<found_copy> checkpoints() const;
  /// Folders of checkpoints that lack their manifest.
  std::vector<std::string> unfinished() const;
  /// Of model_folder; null: there is none.
  nlohmann::json model_manifest() const;
  /// Its files with their names under `to`, whose folders are made; synced.
  /// Refuses what is not what was copied. `only`: those whose names begin so.
  void fetch(const found_copy& which, const std::filesystem::path& to,
             const store::work_watch& stop, std::string_view only = {}) const;

private:
  struct reached;
  std::vector<std::string> names() const;
  void write_small(const std::string& name, std::string_view text) const;
  std::optional<std::string> read_small(const std::string& name) const;
  void fetch_file(const found_copy& of, const copied_file& which,
                  const std::filesystem::path& to,
                  const store::work_watch& stop) const;

  std::unique_ptr<reached> at_;
};

} // namespace ballast::data
