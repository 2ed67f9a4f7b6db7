#include "cli/set_option.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace ballast::cli {

void add_sets(CLI::App* command, std::vector<std::string>& sets) {
  command->add_option("--set", sets, "Change a field: /json/pointer=value")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
}

std::string set_of_parent(const std::string& from) {
  if (from.empty()) // a variable of the shell that is not set
    throw ballast_error(errc::usage, "--from: expected a run or a model, "
                                     "found an empty text");
  const std::string whole =
      (std::filesystem::current_path() / from).lexically_normal().string();
  if (!is_utf8(whole)) // a job is JSON
    throw ballast_error(errc::usage, "--from " + printable(whole) +
                                         ": the name is not UTF-8; rename it");
  return "/init/from=" + whole;
}

} // namespace ballast::cli
