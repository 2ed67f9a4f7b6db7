/// The checkpoints of a run: checkpoints/step-N/ with the state as safetensors
/// and a manifest, complete or absent. Each is written under another name,
/// synced, and renamed, so a torn or damaged one never counts as a checkpoint.
/// Removes only what the caller names: a folder in the way, or one of an undone
/// history, moves to checkpoints/aside-K/ and stays there. One writer at a
/// time, any thread.
#pragma once

#include "data/model/state_checksums.hpp"
#include "data/model/unfinished_state.hpp"
#include "runtime/ledger/lineage.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ballast::data {

/// Names of the optimizer's tensors in a state file begin with this; all other
/// tensors belong to the model.
inline const std::string optimizer_prefix = "optimizer/";
/// In its metadata: the updates that this state has seen, where these are not
/// those of the run alone.
constexpr const char* optimizer_steps_key = "optimizer_steps";
/// And of those of the best model so far, which keep.best keeps.
inline const std::string best_prefix = "best/";
/// No part of the model that a state is of, but the optimizer's, or of the best
/// one.
inline bool is_beside_model(const std::string& tensor) {
  return tensor.starts_with(optimizer_prefix) ||
         tensor.starts_with(best_prefix);
}
/// In the metadata: the step of that model; 0: none is kept yet.
inline const std::string best_step_key = "best_step";

struct stored_checkpoint {
  ledger::checkpoint_identity holds;
  std::filesystem::path file; // the state
  std::string problem;        // why it is incomplete; empty: it is complete
};

/// A state of so many bytes, and who writes it; gives the checksums of what was
/// written, one behind the other. May throw.
struct state_source {
  uint64_t bytes = 0;
  std::function<std::vector<state_part>(const unfinished_state&)> write;
};

/// The state of a checkpoint, for another place; checked on the way there.
/// Throws invalid_data where it is not what was saved.
state_source saved_state(const std::filesystem::path& file);

class checkpoint_store {
public:
  /// `folder`: checkpoints/ of a run directory; it exists.
  explicit checkpoint_store(std::filesystem::path folder);

  /// Writes the state under a temporary name; it is on disk when this returns.
  /// Throws ballast_error: disk_full, run_dir_unusable, and what `state`
  /// throws; then nothing of it is left.
  void stage(const ledger::checkpoint_identity& holds, const std::string& run,
             const state_source& state) const;
  /// Publishes a staged checkpoint atomically. Throws likewise.
  stored_checkpoint publish(const ledger::checkpoint_identity& holds) const;
  /// Discards a staged checkpoint.
  void drop(const ledger::checkpoint_identity& holds) const;
  /// Removes a checkpoint that a newer one replaces.
  void remove(step_number step) const;
  /// All checkpoints, ascending, as their manifests and headers show them:
  /// whoever loads one checks its bytes.
  std::vector<stored_checkpoint> list() const;
  /// Likewise; reads every byte.
  std::vector<stored_checkpoint> inspect() const;
  /// Moves the checkpoint whose state is `file` to checkpoints/aside-K; returns
  /// its new path, empty if it does not exist.
  std::filesystem::path set_aside(const std::filesystem::path& file) const;
  /// The same for all checkpoints after `step`; returns their number.
  size_t set_aside_after(step_number step) const;
  /// Removes what a killed process left half written or half removed. Only
  /// while there is no other writer.
  void remove_unfinished() const;

private:
  std::vector<stored_checkpoint> all(bool every_byte) const;

  std::filesystem::path folder_;
};

} // namespace ballast::data
