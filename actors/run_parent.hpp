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
#include "runtime/job/job.hpp"
#include "store/run_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

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
};

/// Nothing: the job has no init.from.
std::optional<run_parent> find_parent(const job& what);

/// Throws disk_full, run_dir_unusable.
void keep_parent(const run_parent& what, const store::run_directory& in);
/// Nothing: there is none.
std::optional<run_parent> kept_parent(const std::filesystem::path& folder);
/// For those who serve it; without a file: there is none.
parent_weights kept_weights(const std::filesystem::path& folder);
/// A run of that job cannot go on without its copy.
failure parent_missing(const job& what, const std::filesystem::path& folder);

} // namespace ballast::actors
