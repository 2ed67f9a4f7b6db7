/// Copies of checkpoints on their way back to a disk of this machine: one into
/// a run directory that lacks it, or all of a run directory that is lost. A
/// damaged copy is named, and the next older one is taken.
///
/// Any thread. Errors: those of copy_place; invalid_data where no copy can be
/// used, with what is wrong with each.
#pragma once

#include "data/copies/copy_place.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace ballast::data {

/// The note that a run directory came from a place of copies, until the run
/// goes on.
inline constexpr const char* fetched_name = "fetched.json";

struct fetched_copy {
  step_number step{}; // 0: none was of use
  std::string from;   // the place
  std::string damage; // of newer ones, which could not be used; may be empty
};

/// The newest copy of this run with a step behind `after`, up to `last`, comes
/// into `checkpoints`, a folder of a checkpoint_store, in the place of a
/// damaged one of its step.
fetched_copy fetch_checkpoint(const copy_place& from,
                              const std::string& identity, step_number after,
                              step_number last,
                              const std::filesystem::path& checkpoints,
                              const store::work_watch& stop);

/// Makes a run directory from the newest copy: `folder`, or the run's name in
/// `base` where that is empty. It appears complete or not at all, and may not
/// be there. Returns its path, and what was fetched.
std::pair<std::filesystem::path, fetched_copy>
fetch_run(const copy_place& from, const std::filesystem::path& folder,
          const std::filesystem::path& base, const store::work_watch& stop);

} // namespace ballast::data
