/// The commands of `ballast data`, each given its arguments as JSON and a job
/// that is valid. They print, and return the exit code; `stop` ends their work
/// with ballast_error{stopped}.
#pragma once

#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <nlohmann/json_fwd.hpp>

namespace ballast::cli {

struct data_order {
  const job& what;
  const nlohmann::json& request;
  store::work_watch stop = {};
};

/// Of a request; throws its first mistake.
job job_in(const nlohmann::json& text);

/// Keeps the rows that come by standard input, if a source is that; the job has
/// the name of their file then.
void keep_standard_input(job& what);
/// For the thin program: writes that job into the descriptor "answer".
int tell_input_kept(const data_order& order);
/// `validate`: of the nodes of a graph, those whose sources lie on this
/// machine; prints only mistakes.
int check_nodes(const data_order& order);
/// `validate --data`.
int validate_data(const data_order& order);
int show_data(const data_order& order);
int profile_data(const data_order& order);
int prepare_data(const data_order& order);
/// `split` and `write`: the rows of each of "nodes" into that of "files".
int write_data(const data_order& order);
int partition_data(const data_order& order);
int resample_data(const data_order& order);
/// `apply`: the rows of "node", changed by the states in "states", into
/// "file".
int apply_data(const data_order& order);

} // namespace ballast::cli
