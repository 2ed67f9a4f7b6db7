/// The checkpoints that a run keeps and can go back to: on the disk, and the
/// newest one perhaps in the memory of this host. Owned by run_record.
///
/// Threads: publish() may run on another thread than the rest, one at a time;
/// so may close().
#pragma once

#include "actors/memory_folder.hpp"
#include "actors/run_copies.hpp"
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
                  const run_notices& notices, run_copies& copies,
                  std::shared_ptr<monitor::coordinator_probe> probe)
      : directory_(directory), notices_(notices), copies_(copies),
        probe_(std::move(probe)), memory_(directory.path()) {}

  /// Of these, elsewhere.
  run_copies& copies() { return copies_; }
  /// Before read(): where the disk lacks the newest one of this run, up to
  /// step `last`, or has it damaged, its copy comes from the place, if there is
  /// one. Without it the run goes on from what it has.
  void fetch_missing(const std::string& uri, const std::string& identity,
                     step_number last);
  /// Those that an earlier life left. Damaged ones are known from here on.
  void read(coordinator::past_run& out);
  /// Why what lies in memory was not read, where that is newer than what is on
  /// the disk. After read().
  const failure& out_of_reach() const { return out_of_reach_; }
  /// Workers are going to load this state: it is in memory by then, or on its
  /// way there.
  void expect_load_of(const std::string& file);
  /// Sets the damaged ones aside, and says so; and what was fetched.
  void refuse_damaged();
  /// The run cannot go on from this one: it is kept under another name.
  void refuse(const coordinator::refuse_checkpoint& what);
  /// The run went back to this step: later ones do not count any more.
  void undo_after(step_number to);
  /// What an earlier run in this directory left in memory.
  void forget_memory();
  /// Checkpoints may go to memory from here on, or why not: invalid_job with
  /// the numbers where they do not fit.
  failure open_memory(uint64_t state_bytes);
  /// True: what was published there is not there, and was not taken away here.
  /// False, too, while it is not known. Waits for nothing.
  bool memory_is_gone();
  /// The run is over, and memory is given back. `keep`: it may go on; what only
  /// memory has goes to the disk before. Where that fails it stays, and a
  /// notice says where.
  void close(bool keep);
  /// Grows whenever steps are undone.
  uint64_t history() const { return history_; }
  struct publish_order {
    uint32_t keep = 2;      // on the disk
    uint64_t history = 0;   // refused where steps were undone since
    bool requested = false; // its event is written in any case
    bool in_memory = false; // where it goes
  };
  /// Publishes a copy of the training state; its file. What the run needs to
  /// go on from one on the disk is there before. Throws disk_full,
  /// run_dir_unusable, stale_generation, and what `state` throws.
  std::string publish(const ledger::checkpoint_identity& after,
                      const data::state_source& state,
                      const publish_order& how);

private:
  using stored = std::vector<data::stored_checkpoint>;
  stored in_memory();
  void save_newest();
  void note(const stored& found, bool in_memory, coordinator::past_run& out);
  std::string write(const ledger::checkpoint_identity& after,
                    const data::state_source& state, const publish_order& how);
  void keep_newest(step_number made, const publish_order& how);
  void sync_history() const;
  void tell_fetched();

  const store::run_directory& directory_;
  const run_notices& notices_;
  run_copies& copies_;
  std::shared_ptr<monitor::coordinator_probe> probe_;
  std::vector<coordinator::refuse_checkpoint> damaged_; // found by read()
  std::vector<coordinator::events::checkpoint_fetched> fetched_;
  std::mutex writing_; // one at a time
  std::mutex mutex_;   // of the following
  std::atomic<uint64_t> history_{0};
  /// Published by this run, and of the history that counts; ascending. Only
  /// these give way to newer ones.
  std::vector<step_number> saved_;
  std::vector<step_number> in_memory_; // likewise
  memory_folder memory_;
  failure out_of_reach_;
  bool closed_ = false;
  event_budget events_{40}; // of the thread that publishes them
  std::jthread ahead_;      // brings a file into memory
};

} // namespace ballast::actors
