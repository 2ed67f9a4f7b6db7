/// steps.jsonl: the committed steps of a run, in order, without gaps or
/// repeats. A loss that is not finite is written as null; `time` is derived
/// from t_ns with this host's clocks. Owned by the coordinator process; one
/// thread at a time.
#pragma once

#include "runtime/ledger/commit.hpp"
#include "store/line_file.hpp"

#include <span>

namespace ballast::monitor {

class step_log {
public:
  /// Continues the file if it exists. Throws as line_file does, and
  /// run_dir_unusable if its last line is not a step.
  explicit step_log(const std::filesystem::path& file);

  /// Appends the steps with one write. Throws ballast_error: internal if the
  /// first is not last() + 1 or they are not consecutive (nothing is written
  /// then), disk_full.
  void append(std::span<const ledger::committed_step> steps);
  void append(const ledger::committed_step& step) { append({&step, 1}); }

  /// Moves every line after step `to` to `undone`, which is on disk before they
  /// are removed here. Returns their samples.
  uint64_t cut(step_number to, const std::filesystem::path& undone);

  /// The last step in the file, 0 before the first.
  step_number last() const { return last_; }

private:
  store::line_file file_;
  step_number last_{};
};

} // namespace ballast::monitor
