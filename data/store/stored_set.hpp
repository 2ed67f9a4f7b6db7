/// The files of a prepared set in a folder of a store (s3://, gs://, file://,
/// or a path): written there once by `ballast data prepare --to`, and read from
/// there, chunk by chunk, by every worker of a run that trains on it.
///
/// The manifest is written last, so a set is there as a whole or not at all.
/// Errors: ballast_error{invalid_data, unreachable, not_in_build} with the name
/// of the place, and what to do.
#pragma once

#include "data/store/chunk_file.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/work_watch.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace ballast::data {

/// Where the job names such a set; empty: it has sources. `job`: JSON.
std::string stored_set_of(const std::string& job);

/// Copies the files of a set in `folder` to the place; what is there of the
/// same set stays. Refuses a place that has another one. Returns the place's
/// name.
std::string write_stored_set(const std::filesystem::path& folder,
                             const std::string& uri,
                             const store::work_watch& stop);

/// The text of its manifest.json.
std::string manifest_of_stored(const std::string& uri);
/// Copies what describes the set besides, without its rows, to `folder`.
void fetch_stored_tables(const std::string& uri,
                         const std::filesystem::path& folder,
                         const store::work_watch& stop);
/// Opens both files of rows; `set` must outlive it. Any thread reads.
std::unique_ptr<chunk_files> open_stored_chunks(const std::string& uri,
                                                const ledger::manifest& set);

} // namespace ballast::data
