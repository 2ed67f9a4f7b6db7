/// The checkpoints of a run: checkpoints/step-N/ with the state as safetensors
/// and a manifest, complete or absent. Written under another name, synced, and
/// renamed; what is torn or damaged is never found. One writer at a time, any
/// thread.
#pragma once

#include "runtime/ids.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ballast {

struct stored_checkpoint {
  step_number step{};
  std::filesystem::path file; // the state
};

class checkpoint_store {
public:
  /// `folder`: checkpoints/ of a run directory; it exists.
  explicit checkpoint_store(std::filesystem::path folder);

  /// Publishes the state after `step`, then removes all but the `keep` newest.
  /// Throws ballast_error: disk_full, run_dir_unusable.
  stored_checkpoint publish(step_number step, epoch_number epoch,
                            const std::string& run, std::string_view state,
                            uint32_t keep) const;
  /// What is there and whole, ascending.
  std::vector<stored_checkpoint> list() const;
  /// Those behind `step` count no more.
  void remove_after(step_number step) const;
  /// What was being written when the writer was killed. Only where there is no
  /// other one.
  void remove_unfinished() const;

private:
  std::filesystem::path folder_;
};

} // namespace ballast
