/// How `ballast run` starts its children: their command lines. Pure.
#pragma once

#include "cli/supervisor.hpp"

#include <string>
#include <vector>

namespace ballast::cli {

/// `earlier_http`: where page and API of an earlier coordinator of the run
/// were; they keep that address, unless another program has taken it. Empty:
/// this is the first.
std::vector<std::string> coordinator_arguments(const run_options& of,
                                               const std::string& earlier_http);

/// `control`: the coordinator's address.
std::vector<std::string> worker_arguments(const run_options& of,
                                          const std::string& control,
                                          const std::string& name);

} // namespace ballast::cli
