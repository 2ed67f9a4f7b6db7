/// The states of a job's fitted nodes as a folder, `preprocessing/`: in it a
/// folder for each, in the order in which they are applied, "0-impute" with
/// state.json and numbers.safetensors, and manifest.json with the SHA-256 of
/// each.
///
/// Errors: ballast_error{invalid_data} of a folder that is none, is damaged, or
/// is of another version; {run_dir_unusable, disk_full} of writing, with the
/// path.
#pragma once

#include "data/fitting/fitted_state.hpp"
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ballast::data {

inline constexpr const char* preprocessing_name = "preprocessing";

/// What manifests say of each.
struct fitted_node {
  std::string op;
  std::string name;   // of the node
  std::string sha256; // of its state
  bool operator==(const fitted_node&) const = default;
};
std::vector<fitted_node>
describe(const std::vector<std::shared_ptr<const fitted_state>>& states);

/// Makes the folder.
void write_states(
    const std::filesystem::path& folder,
    const std::vector<std::shared_ptr<const fitted_state>>& states);
/// `folder`: such a folder, or one that has it, as that of a run. Checks each
/// against its hash.
std::vector<std::shared_ptr<const fitted_state>>
read_states(const std::filesystem::path& folder);
/// The manifest of a prepared set in `set` also names the states that lie
/// beside it, if there are any: `preprocessing`, a list of op, name and sha256.
void name_states(const std::filesystem::path& set, nlohmann::json& manifest);
/// The files of `from`, as they are, into a new folder.
void copy_states(const std::filesystem::path& from,
                 const std::filesystem::path& to);

} // namespace ballast::data
