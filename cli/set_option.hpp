/// `--set`, as every command has it that reads a job, and what other options
/// say in its words.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ballast::cli {

void add_sets(CLI::App* command, std::vector<std::string>& sets);

/// Of `--from`: a path of the shell, where a job's is one of the job's folder.
/// Throws ballast_error{usage}.
std::string set_of_parent(const std::string& from);

} // namespace ballast::cli
