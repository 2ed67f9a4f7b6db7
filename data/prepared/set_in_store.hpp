/// A set that lies in a store, for a job that trains on it: its manifest and
/// tables are copied to the cache, its rows stay where they are.
#pragma once

#include "data/prepared/prepared_set.hpp"

#include <filesystem>
#include <memory>

namespace ballast::data {

/// Precondition: the job names one. ballast_error{invalid_data, unreachable}
/// that names the place if there is none, it lacks a piece, or is of another
/// version; {invalid_job} if it is no set for this job.
std::shared_ptr<prepared_set>
open_set_in_store(const job& what, const std::filesystem::path& cache_folder,
                  const prepare_options& options);

} // namespace ballast::data
