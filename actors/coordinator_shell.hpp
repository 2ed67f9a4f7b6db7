/// The coordinator actor: translates messages into calls of the transitions,
/// and their decisions into messages, lines on the disk and work in the
/// background. A program spawns it detached, so that the disk holds up nobody
/// else.
#pragma once

#include "actors/action_queue.hpp"
#include "actors/coordinator.hpp"
#include "actors/disk_notice.hpp"
#include "actors/preparation_view.hpp"
#include "actors/run_opening.hpp"
#include "actors/types.hpp"
#include "monitor/logs/log.hpp"
#include "monitor/status_json.hpp"
#include "runtime/base/disk_wait.hpp"
#include "runtime/coordinator/accounting.hpp"
#include "runtime/coordinator/asking.hpp"
#include "runtime/coordinator/idle_work.hpp"
#include "runtime/coordinator/status.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace ballast::actors {

class coordinator_shell final : public local_coordinator_actor::base {
public:
  coordinator_shell(caf::actor_config& actor, shard_manager_actor shards,
                    coordinator_shell_config config);
  behavior_type make_behavior() override;
  void on_exit() override;
  const char* name() const override { return "coordinator"; }

private:
  struct action_handler;  // performs one of each type of action
  struct control_handler; // one answer for each type of request

  coordinator::coordinator_parts& core() { return state_->core; }
  run_record& record() { return *state_->record; }
  instant clock_now() const { return clock().now().time_since_epoch(); }
  instant now() const { return queue_.core_time(); }

  template <class Event>
  void tell_core(Event what) {
    const coordinator::run_phase phase = core().members.phase();
    on(core(), std::move(what), now());
    if (core().members.phase() != phase)
      account_time(core(), phase, now());
    perform_decided();
    prepare_next(core()); // beside what was sent
  }
  /// What the core decided, in order. A full disk is waited for, up to grace_s;
  /// one that fails ends the run. Of a run that ends already, all that still
  /// can be done is done.
  void perform_decided() { queue_.add(state_->box.take()); }
  /// Every 50 ms.
  void on_tick();

  // -- nodes and users
  caf::result<welcome> hello(const worker_hello& who,
                             const gpu_worker_actor& handle);
  void down(const caf::down_msg& message);
  caf::result<control_reply> control(const control_request& request);
  caf::result<control_reply> decided(failure refused,
                                     control_answer answer = {});
  /// What is shown outside: a run has ended once its report is written. Made
  /// once a tick, and once more where a user has asked for something since.
  const coordinator::run_status& status();

  // -- how a run begins and ends (coordinator_runs.cpp)
  /// Begins the job. Refused: busy, invalid_job, run_dir_*.
  failure submit(const submit_job& order);
  failure resume_past(const resume_run& order);
  failure busy();
  failure lead(opening_result opened);
  void prepared(const set_prepared& made);
  void not_prepared(const coordinator::prepare_data& what,
                    const caf::error& why);
  void prepare_again();
  void model_saved(const saved_model& what);
  void end(const coordinator::end_run& what);
  void ended(const report_written& report);
  void write_stale_workers();

  // -- a full disk
  std::chrono::seconds patience();
  void give_up_queue(failure why);
  std::string disk_trouble();

  coordinator_shell_config config_;
  std::optional<coordinator_state> state_; // until on_exit
  action_queue queue_;
  bool gave_up_ = false; // this run has failed for a full disk
  disk_wait prepare_wait_;
  std::optional<coordinator::prepare_data> prepare_again_;
  disk_notice notice_;
  preparation_view preparing_;
  bool workers_stale_ = false; // workers.json is not what it should be
  uint64_t ticks_ = 0;
  std::string outcome_reason_;
  std::string outcome_detail_;
  /// As the report of the last run has it.
  std::optional<
      std::pair<coordinator::run_phase, coordinator::run_status::ending>>
      how_it_ended_;
  std::optional<coordinator::run_status>
      status_; // of this tick, if somebody looked
};

} // namespace ballast::actors
