/// Copies what a run saves to the place of its job's checkpoint.copy_to: each
/// checkpoint that is published on the disk, with what a run needs to go on
/// from it elsewhere, and the model at the end. On a thread of its own, which
/// nobody waits for before the run ends; a newer checkpoint takes the place of
/// one that waits. What fails is told, and the next checkpoint is the next
/// attempt. Owned by run_record; any thread.
#pragma once

#include "actors/run_notices.hpp"
#include "data/copies/copy_place.hpp"
#include "runtime/base/event_budget.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/coordinator/run_status.hpp"
#include "store/run_directory.hpp"

#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace ballast::actors {

class run_copies {
public:
  run_copies(const store::run_directory& directory, const run_notices& notices)
      : directory_(directory), notices_(notices) {}
  ~run_copies();
  run_copies(const run_copies&) = delete;
  run_copies& operator=(const run_copies&) = delete;

  struct target {
    std::string uri; // empty: the job wants none
    data::copy_owner owner;
    uint32_t keep = 2; // checkpoints there
  };
  /// Once. Until then, and without a place, nothing is copied.
  void open(target to);
  /// A checkpoint is published, whose state is this file. It is copied also
  /// where it loses its name meanwhile.
  void add(step_number step, const std::filesystem::path& state);
  /// The run went back to this step.
  void undo_after(step_number to);
  /// Waits until the newest checkpoint is there, or could not be brought there
  /// once more; then copies the model of a run that ended in this state.
  void finish(const std::string& state, step_number last);
  /// What is on its way is given up; waits for nothing.
  void stop();
  /// Nothing: no copies are wanted.
  std::optional<coordinator::run_status::copies> status() const;

private:
  struct order {
    step_number step{};
    std::vector<data::file_to_copy> files; // of the checkpoint
    bool undone = false;
  };
  void take(step_number step, const std::filesystem::path& state);
  void work();
  void attempt(const std::shared_ptr<order>& what);
  uint64_t copy(const order& what, const store::work_watch& stop);
  std::vector<data::copied_file> put_history(const std::string& folder,
                                             const store::work_watch& stop);
  std::vector<data::file_to_copy> history_files() const;
  void keep_newest(step_number made);
  void check_counts(const order& what) const;
  uint64_t copy_model(const std::string& state, step_number last,
                      const store::work_watch& stop);
  data::copy_place& place();
  nlohmann::ordered_json about() const;
  void not_copied(step_number step, const failure& why, event_budget& of);
  uint64_t history() const;
  bool may_tell(event_budget& of);

  const store::run_directory& directory_;
  const run_notices& notices_;
  target to_;
  std::unique_ptr<data::copy_place> place_; // of the thread that copies

  mutable std::mutex mutex_; // of the following
  std::condition_variable_any changed_;
  std::shared_ptr<order> waiting_;
  std::shared_ptr<order> current_;
  std::shared_ptr<order> failed_; // the newest one, for another attempt
  uint64_t history_ = 0;          // grows whenever steps are undone
  coordinator::run_status::copies status_;
  // Of events: those of one kind leave room for the others.
  event_budget copied_{40};
  event_budget overtaken_{40};
  event_budget not_copied_{40};

  std::stop_source stop_;
  std::thread thread_; // begun by open(), joined by the destructor
};

} // namespace ballast::actors
