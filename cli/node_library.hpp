/// The heavy half of the program: libballast_node.so beside the executable
/// holds everything that needs CAF, Arrow or SQLite, and is opened only by the
/// commands that do. Each is one main-like C function: argv[0] is the name of
/// the subcommand ("node", "audit", "doctor", "bench"), the rest its arguments,
/// the result the exit code.
#pragma once

#include <string>
#include <vector>

namespace ballast::cli {

/// Calls ballast_<command>_main of the library. Throws ballast_error: internal
/// if the library cannot be opened, not_in_build if it lacks the command.
int call_node_library(const std::string& command,
                      const std::vector<std::string>& arguments);

} // namespace ballast::cli
