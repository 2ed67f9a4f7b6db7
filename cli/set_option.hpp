/// `--set`, as every command has it that reads a job. No errors.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ballast::cli {

void add_sets(CLI::App* command, std::vector<std::string>& sets);

} // namespace ballast::cli
