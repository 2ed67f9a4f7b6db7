/// Which file `init.from` names, and whether a job can begin with it. Reads
/// files, changes nothing. Errors: as run_parent.hpp.
#pragma once

#include "actors/run_parent.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <string>

namespace ballast::actors {

struct parent_choice {
  std::filesystem::path file;
  std::filesystem::path folder; // of its run; empty: it is not known
  bool checkpoint = false;      // of the run; else its model, or any file
};
/// "RUN_DIR", "RUN_DIR@STEP", "RUN_DIR@best", or the path of a file.
parent_choice choose_parent(const std::string& from);
/// Reads all of its parameters.
run_parent look_at(const parent_choice& what, const job& begins);

} // namespace ballast::actors
