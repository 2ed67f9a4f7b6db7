/// Where a run comes from whose job has `init.from`: the model or checkpoint of
/// another run, which is found and looked at before anything of the new run is
/// written, and kept in its folder, so that it needs the other run no more. The
/// copy is a second name of the same file where the file system has that.
/// Reads and writes files; used on the coordinator's thread.
///
/// Errors: ballast_error{invalid_job} with a pointer below /init, or
/// /train/optimizer.
#pragma once

#include "actors/served_parent.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/job/job.hpp"
#include "store/run_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::actors {

/// In the folder of the new run.
constexpr const char* parent_weights_name = "parent.safetensors";
constexpr const char* parent_about_name = "parent.json";

struct run_parent {
  std::filesystem::path file;
  std::string run; // its name, or else the path of the file
  step_number step{};
  std::string sha256; // as weights_sha256 of a report
  uint64_t optimizer_steps = 0;
  /// Of its data, where they are known: what the parameters were trained on.
  std::vector<std::string> class_names = {};
  std::vector<std::string> columns = {};
  /// That file, so that it can be kept though its run removes it; null: it is
  /// this run's own.
  std::shared_ptr<const unique_fd> open = {};
};

/// Nothing: the job has no init.from.
std::optional<run_parent> find_parent(const job& what);

/// Throws disk_full, run_dir_unusable.
void keep_parent(const run_parent& what, const store::run_directory& in);
/// Nothing: there is none.
std::optional<run_parent> kept_parent(const std::filesystem::path& folder);
/// Why what it learned may not fit the data of the run in `folder`, which are
/// prepared; empty: nothing is known of that.
std::string unlike_parent(const std::filesystem::path& folder);
/// For those who serve it; without a file: there is none.
parent_weights kept_weights(const std::filesystem::path& folder);
/// A run of that job cannot go on without its copy.
failure parent_missing(const job& what, const std::filesystem::path& folder);
/// Or with another one: reads its parameters. Nothing: it has none, or they are
/// those that it began with.
failure parent_changed(const std::filesystem::path& folder);

} // namespace ballast::actors
