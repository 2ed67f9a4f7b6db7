/// The commands of `ballast data`, each given its arguments as JSON and a job
/// that is valid. They print, and return the exit code.
#pragma once

#include "runtime/job/job.hpp"

#include <nlohmann/json_fwd.hpp>

namespace ballast::cli {

/// Keeps the rows that come by standard input, if a source is that; the job has
/// the name of their file then.
void keep_standard_input(job& what);
/// For the thin program: writes that job into the descriptor "answer".
int keep_input(const job& what, const nlohmann::json& request);
int validate_data(const job& what, const nlohmann::json& request);
int show_data(const job& what, const nlohmann::json& request);
int profile_data(const job& what, const nlohmann::json& request);
int prepare_data(const job& what, const nlohmann::json& request);
/// `split` and `write`: the rows of each of "nodes" into that of "files".
int write_data(const job& what, const nlohmann::json& request);
int partition_data(const job& what, const nlohmann::json& request);

} // namespace ballast::cli
