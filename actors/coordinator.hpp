/// What the coordinator actor (coordinator_shell.hpp) is made of and made with:
/// the core with all decisions, those it talks to, the record of its run, and
/// whom it tells.
#pragma once

#include "actors/coordinator_background.hpp"
#include "actors/local_protocol.hpp"
#include "actors/run_record.hpp"
#include "runtime/coordinator/parts.hpp"
#include "runtime/coordinator/run_status.hpp"
#include "runtime/job/memory_need.hpp"

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace ballast::actors {

/// The record of the newest run, shared with the HTTP server's threads.
class record_slot {
public:
  std::shared_ptr<run_record> get() const {
    std::lock_guard lock(mutex_);
    return record_;
  }
  void set(std::shared_ptr<run_record> record) {
    std::lock_guard lock(mutex_);
    record_ = std::move(record);
  }

private:
  mutable std::mutex mutex_;
  std::shared_ptr<run_record> record_;
};

/// How a run ended.
struct run_outcome {
  std::string name;
  std::string folder; // empty if the run left nothing
  int exit_code = 0;
  std::string reason; // one line
  /// Content of files that explains it: not for logs, which others may read.
  std::string detail;
  std::string report; // JSON
  /// It never began: what it wrote is removed.
  bool discarded = false;
};

struct coordinator_shell_config {
  coordinator::coordinator_config core;
  /// Filled in before the first job.
  std::shared_ptr<coordinator_addresses> addresses =
      std::make_shared<coordinator_addresses>();
  std::filesystem::path runs_folder = "runs";
  /// Where all workers will run: a job that asks for more is refused when it is
  /// given. Empty: on machines that are known only once their nodes join.
  std::optional<machine_size> only_machine;
  std::shared_ptr<record_slot> records = std::make_shared<record_slot>();
  /// Who reads files of the sources: workers of other machines than that with
  /// this boot id, or all.
  std::string boot_id;
  bool prepare_on_this_machine = false;
  /// Called on the coordinator's thread after every tick of a run, for a
  /// progress line; may be empty.
  std::function<void(const coordinator::run_status&)> on_tick;
  /// Steps are committed and written: they, the run, and what is known of it,
  /// which may be more; may be empty.
  std::function<void(const std::vector<ledger::committed_step>&,
                     const coordinator::run_spec&,
                     const coordinator::run_tally&)>
      on_steps;
  /// The newest evaluation, once or more often; `classes`: its labels are some;
  /// may be empty.
  std::function<void(const evaluation_report&, bool classes)> on_evaluation;
  /// A run directory exists, before its data are prepared; may be empty.
  std::function<void(const run_record&, const job&)> on_run_opened;
  /// A run that was left goes on, and what users asked of it then is on the
  /// disk; may be empty.
  std::function<void()> on_taken_over;
  /// A line that whoever started the run should see at once.
  std::function<void(const std::string&)> on_notice;
  /// A worker is excluded: its process, if it still lives, is of no use; may be
  /// empty.
  std::function<void(const std::string& name)> on_expelled;
  /// What the run waits for, every few seconds while it does; may be empty.
  std::function<void(const std::string&)> on_trouble;
  /// A worker said hello; one that was excluded is of use again; may be empty.
  std::function<void(const std::string& name)> on_joined;
  /// Another worker is wanted; may be empty where nobody can start one.
  std::function<void(const std::string& name)> on_start_worker;
  /// A run is over and its report is written.
  std::function<void(const run_outcome&)> on_run_ended;
  /// A handler threw: why, to end the process with; may be empty.
  std::function<void(const std::string&)> on_defect;
};

/// What the coordinator has; gone with it, once its threads are at their end.
struct coordinator_state {
  explicit coordinator_state(const coordinator::coordinator_config& config)
      : core(config, box) {}
  coordinator_state(const coordinator_state&) = delete;
  coordinator_state& operator=(const coordinator_state&) = delete;

  coordinator::outbox box;             // where core puts its actions
  coordinator::coordinator_parts core; // all decisions
  std::map<worker_id, gpu_worker_actor> handles;
  shard_manager_actor shards;
  std::shared_ptr<run_record> record;
  uint64_t runs = 0; // so many had a record
  bool ending = false;
  coordinator_background background;
};

} // namespace ballast::actors
