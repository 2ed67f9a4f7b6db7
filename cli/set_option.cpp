#include "cli/set_option.hpp"

#include <CLI/CLI.hpp>

namespace ballast::cli {

void add_sets(CLI::App* command, std::vector<std::string>& sets) {
  command->add_option("--set", sets, "Change a field: /json/pointer=value")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

} // namespace ballast::cli
