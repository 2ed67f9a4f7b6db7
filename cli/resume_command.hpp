/// The command that goes on with a run, as a line to paste into a shell.
#pragma once

#include "cli/outcome.hpp"
#include "cli/supervisor.hpp"

#include <string>

namespace ballast::cli {

/// With the options that the job does not hold; empty: there is nothing to go
/// on with.
std::string resume_command(const run_options& options, const outcome& how);

} // namespace ballast::cli
