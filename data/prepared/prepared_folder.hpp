/// Opens a prepared set of the cache and protects it from eviction.
#pragma once

#include "data/prepared/prepared_set.hpp"
#include "store/file_lock.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ballast::data {

/// Opens a folder that `prepare` wrote and holds the lock `in_use` as long as
/// the set lives; ballast_error{invalid_data} if the folder is incomplete.
/// `sources` are the files as this job names them (equal content may have other
/// paths).
std::shared_ptr<prepared_set>
open_held(const std::filesystem::path& folder,
          std::shared_ptr<store::file_lock> in_use,
          std::vector<std::string> sources);

/// What manifest.json says, and of many chunks the table of them;
/// ballast_error{invalid_data} if it is missing, damaged or of another version.
ledger::manifest read_manifest(const std::filesystem::path& folder);

/// Writes manifest.json with a checksum of its own, and the tables of a set of
/// many chunks. `sampling`: what its weights and order are of, or null
/// (sampling_of_set). `columns`: the names of the features in order, for those
/// who use a model that was trained on the set; empty: they have none.
void write_manifest(const std::filesystem::path& folder, ledger::manifest about,
                    const nlohmann::json& sampling,
                    const std::vector<std::string>& columns = {});

/// The names of the features of the set there; empty: they have none, or an
/// earlier build prepared it.
std::vector<std::string> columns_of_set(const std::filesystem::path& folder);
/// A manifest that does not say them yet then does: `columns`.
void name_columns(const std::filesystem::path& set, nlohmann::json& manifest);

/// Prepares a damaged set again; receives the description of the damage.
using set_maker =
    std::function<std::shared_ptr<prepared_set>(const std::string& why)>;

/// Reads from `now` until a chunk is damaged, then, once, from the set that
/// `make_again` returns, if it is the same set.
std::shared_ptr<prepared_set> repairing_set(std::shared_ptr<prepared_set> now,
                                            set_maker make_again);

} // namespace ballast::data
