/// The checkpoints that a run keeps and can go back to. Owned by run_record.
///
/// Threads: publish() may run on another thread than the rest, one at a time.
#pragma once

#include "actors/run_notices.hpp"
#include "data/model/checkpoint_store.hpp"
#include "monitor/metrics/metrics.hpp"
#include "runtime/base/event_budget.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/coordinator/actions.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "store/run_directory.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ballast::actors {

class run_checkpoints {
public:
  run_checkpoints(const store::run_directory& directory,
                  const run_notices& notices,
                  std::shared_ptr<monitor::coordinator_probe> probe)
      : directory_(directory), notices_(notices), probe_(std::move(probe)) {}

  /// Those that an earlier life left. Damaged ones are known from here on.
  void read(coordinator::past_run& out);
  /// Workers are going to load this state: it is in memory by then, or on its
  /// way there.
  void expect_load_of(const std::string& file);
  /// Sets the damaged ones aside, and says so.
  void refuse_damaged();
  /// The run cannot go on from this one: it is kept under another name.
  void refuse(const coordinator::refuse_checkpoint& what);
  /// The run went back to this step: later ones do not count any more.
  void undo_after(step_number to);
  /// Grows whenever steps are undone.
  uint64_t history() const { return history_; }
  /// Publishes a copy of the training state; its file. What the run needs to
  /// go on from it is on the disk before. Refused where steps were undone since
  /// history() was `history`. `requested`: its event is written in any case.
  /// Throws disk_full, run_dir_unusable, stale_generation, and what `state`
  /// throws.
  std::string publish(const ledger::checkpoint_identity& after,
                      const data::state_source& state, uint32_t keep,
                      uint64_t history, bool requested);

private:
  void sync_history() const;

  const store::run_directory& directory_;
  const run_notices& notices_;
  std::shared_ptr<monitor::coordinator_probe> probe_;
  std::vector<coordinator::refuse_checkpoint> damaged_; // found by read()
  std::mutex mutex_;
  std::atomic<uint64_t> history_{0};
  /// Published by this run, and of the history that counts; ascending. Only
  /// these give way to newer ones.
  std::vector<step_number> saved_;
  event_budget events_{40}; // of the thread that publishes them
  std::jthread ahead_;      // brings a file into memory
};

} // namespace ballast::actors
