/// How a run gets its record: a new folder for a job, or the folder that an
/// earlier life of a coordinator left. Opens files; decides nothing of the run.
/// Used on the coordinator's thread.
#pragma once

#include "actors/coordinator.hpp"
#include "runtime/coordinator/past_run.hpp"

#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace ballast::actors {

struct opened_run {
  std::shared_ptr<run_record> record;
  job what;
  std::optional<coordinator::past_run> past; // empty: it begins
  std::string notice = {};                   // for the user; may be empty
};
using opening_result = std::variant<opened_run, failure>;

/// Refused: invalid_job, run_dir_*. `least`: the highest term that this process
/// has led a run with; here and below.
opening_result open_new_run(const coordinator_shell_config& config,
                            const submit_job& order, term least);
/// Likewise, and other_build. Nothing was lost of a run that was killed before
/// it began: that one begins again.
opening_result open_past_run(const coordinator_shell_config& config,
                             const resume_run& order, term least);

} // namespace ballast::actors
