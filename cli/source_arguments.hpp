/// A source that is named on the command line instead of in a job. Pure but for
/// what is added to a command. Errors: ballast_error{usage}, and those of a
/// job.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace ballast::cli {

/// A source on the command line.
struct source_arguments {
  std::string uri;
  std::string format; // empty: by its name
  std::string table;
  std::string query;
  std::string password_env;
  std::vector<std::string> null_values;
  std::vector<std::string> types; // COLUMN=TYPE
  std::string where;
  std::vector<std::string> dropped;
  std::string on_error;   // empty: as ever
  std::string errors_max; // a number
};

/// Which node of job_of() has its rows, as they are taken.
std::string rows_of(const source_arguments& from);

/// A job of this source and these nodes, read as any other, so that every
/// mistake is named as there.
nlohmann::json job_of(const source_arguments& from, uint64_t seed,
                      nlohmann::json nodes);

/// To a command.
void add_source(CLI::App* command, source_arguments& from);
/// Of commands that read the rows.
void add_policy(CLI::App* command, source_arguments& from);

} // namespace ballast::cli
