/// The checkpoints of a run: checkpoints/step-N/ with the state as safetensors
/// and a manifest, complete or absent. Written under another name, synced, and
/// renamed; what is torn or damaged is never taken for one. Nothing is removed
/// but what the caller names: a folder that is in the way, or of a history that
/// was undone, is moved to checkpoints/aside-K/ and stays there. One writer at
/// a time, any thread.
#pragma once

#include "runtime/ledger/lineage.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ballast {

/// In the file of a state, what the optimizer keeps begins with this; all else
/// is the model.
inline const std::string optimizer_prefix = "optimizer/";

struct stored_checkpoint {
  checkpoint_identity holds;
  std::filesystem::path file; // the state
  std::string problem;        // why it is not whole; empty: it is
};

class checkpoint_store {
public:
  /// `folder`: checkpoints/ of a run directory; it exists.
  explicit checkpoint_store(std::filesystem::path folder);

  /// Writes the state under a temporary name, on the disk when it returns.
  /// Throws ballast_error: disk_full, run_dir_unusable.
  void stage(const checkpoint_identity& holds, const std::string& run,
             std::string_view state) const;
  /// Publishes what was staged, at once. Throws likewise.
  stored_checkpoint publish(const checkpoint_identity& holds) const;
  /// What was staged is not wanted any more.
  void drop(const checkpoint_identity& holds) const;
  /// A newer one has replaced it.
  void remove(step_number step) const;
  /// What is there, ascending; reads every byte.
  std::vector<stored_checkpoint> inspect() const;
  /// Those of `inspect` that are whole.
  std::vector<stored_checkpoint> list() const;
  /// Moves the checkpoint whose state is `file` out of the way; where it is
  /// then, empty if it is not there.
  std::filesystem::path set_aside(const std::filesystem::path& file) const;
  /// The same with all behind `step`: how many.
  size_t set_aside_after(step_number step) const;
  /// What was being written when the writer was killed. Only where there is no
  /// other one.
  void remove_unfinished() const;

private:
  std::filesystem::path folder_;
};

} // namespace ballast
