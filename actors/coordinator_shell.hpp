/// The coordinator actor: translates messages into calls of coordinator_core,
/// and its decisions into messages, lines on the disk and work in the
/// background. A program spawns it detached, so that the disk holds up nobody
/// else.
#pragma once

#include "actors/coordinator.hpp"
#include "actors/past_run_reader.hpp"
#include "actors/types.hpp"
#include "monitor/logs/log.hpp"
#include "monitor/status_json.hpp"
#include "runtime/base/disk_wait.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/coordinator/status.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

namespace ballast {

/// Work that keeps its place among the core's actions.
struct queued_work {
  std::function<void()> todo;
  /// Called instead where the run fails before that; may be empty.
  std::function<void(const failure&)> dropped = {};
};

class coordinator_shell final : public local_coordinator_actor::base {
public:
  coordinator_shell(caf::actor_config& actor, shard_manager_actor shards,
                    coordinator_shell_config config);
  behavior_type make_behavior() override;
  void on_exit() override;
  const char* name() const override { return "coordinator"; }

private:
  struct control_handler; // one answer for each type of request

  /// The core's time. It stands still while the disk is full: nobody may be
  /// given up for an order that could not be sent.
  instant now() const {
    return (wait_.waiting() ? wait_.since() : clock_now()) - waited_;
  }
  coordinator_core& core() { return state_->core; }

  /// Performs what the core decided, in order: behind what was decided before
  /// and could not be written yet. A full disk is waited for, up to grace_s;
  /// one that fails ends the run. Of a run that ends already, all that still
  /// can be done is done.
  void perform(actions list);
  template <class Event>
  void tell_core(Event what) {
    core().take(std::move(what), now());
    perform_decided();
  }
  void perform_decided() { perform(state_->box.take()); }
  /// Every 50 ms.
  void tick();

  /// What is shown outside: a run has ended once its report is written. Made
  /// once a tick, and once more where a user has asked for something since.
  const run_status& status();

  /// Asked once a tick. Of many workers every half second, and not in the way
  /// of a recovery, unless that takes long.
  bool summaries_due();
  /// workers.json, where it is not what it should be; as all that is written.
  void refresh_workers();

  caf::result<welcome> hello(const worker_hello& who,
                             const gpu_worker_actor& handle);
  /// Begins the job. Refused: busy, invalid_job, run_dir_*.
  failure submit(const submit_job& order);
  failure resume_past(const resume_run& order);
  caf::result<std::string> name_of_run(const failure& refused);
  void down(const caf::down_msg& message);
  caf::result<control_reply> control(const control_request& request);
  caf::result<control_reply> decided(failure refused,
                                     control_answer answer = {});
  status_shown shown_status() { return {status_json(status())}; }
  void model_saved(const saved_model& what);
  void ended(const report_written& report);
  void on_tick();

  /// What is written about all of them takes milliseconds.
  bool many_workers() { return core().nodes().all().size() > 64; }

  failure begin_again(const std::string& folder,
                      const std::optional<job>& asked);
  void lead(std::shared_ptr<run_record> record);
  void go_on_with(const actions& decided);
  run_record& record() { return *state_->record; }
  failure busy();
  void show_end(const run_outcome& how);

  using queued = std::variant<action, queued_work>;
  instant clock_now() const { return clock().now().time_since_epoch(); }
  void perform_later(queued_work what);
  void work_off();
  void write_stale_workers();
  run_status make_status();
  bool waits_for(const failure& why);
  void give_up_queue(failure why);
  std::chrono::seconds patience();
  void prepare_again();
  void prepared(const set_prepared& made);
  void not_prepared(const prepare_data& what, const caf::error& why);
  std::string disk_trouble();
  void tell_disk_trouble();
  void note_waiting_workers();

  // One overload for each type of action; one that lacks does not compile.
  /// For the disk.
  template <class Recorded>
  requires requires(run_record& on, const Recorded& what) { on.perform(what); }
  void perform_now(const Recorded& what) { record().perform(what); }
  /// For a worker, as it is.
  template <class Order>
  requires requires(const Order& one) {
    one.to;
    one.what;
  }
  void perform_now(const Order& what) { order(what.to, what.what); }
  void perform_now(const prepare_data& what);
  void perform_now(const place_shares& what);
  void perform_now(const send_assignment& what) {
    assignment copy = what.what;
    copy.run_folder = record().folder().string();
    order(what.to, copy);
  }
  void perform_now(const observe_load& what);
  void perform_now(const expel& what);
  void perform_now(const start_worker& what);
  void perform_now(const apply_balance& what) {
    send(state_->shards, set_balance{what.what.enabled, what.what.skew_tv});
  }
  void perform_now(const write_event& what);
  void perform_now(const write_workers&);
  void perform_now(const fetch_model& what);
  void perform_now(const publish_model& what);
  void perform_now(const fetch_checkpoint& what);
  void perform_now(const serve_checkpoint& what) {
    send(state_->shards, serve_file{what.file});
  }
  void perform_now(const give_up& what);
  void perform_now(const end_run& what);

  template <class Message>
  void order(worker_id to, const Message& what) {
    auto found = state_->handles.find(to);
    if (found != state_->handles.end())
      send(found->second, what);
  }

  template <class Get>
  void publish_in_background(Get get);
  template <class Work>
  void in_background(Work work) {
    state_->space->stop(); // the one before is wanted no more
    if (state_->helper.joinable())
      state_->helper.join();
    state_->helper = std::thread(std::move(work));
  }

  coordinator_shell_config config_;
  std::optional<coordinator_state> state_; // until on_exit
  std::deque<queued> queue_;               // decided, in order
  bool working_ = false;                   // on the queue
  disk_wait wait_;                         // of its first entry
  instant waited_{0};                      // in all, by the core's clock
  bool gave_up_ = false; // this run has failed for a full disk
  disk_wait prepare_wait_;
  std::optional<prepare_data> prepare_again_;
  std::map<std::string, instant> waiting_workers_; // for space, since
  std::string last_trouble_;
  std::string told_text_;
  instant told_{0};
  std::string outcome_reason_;
  bool workers_stale_ = false;
  uint64_t ticks_ = 0;
  std::string outcome_detail_;
  /// As the report of the last run has it.
  std::optional<std::pair<run_phase, run_status::ending>> how_it_ended_;
  std::optional<run_status> status_; // of this tick, if somebody looked
  /// Why the report could not be written; the helper's until it is joined.
  std::shared_ptr<std::string> no_report_ = std::make_shared<std::string>();
};

} // namespace ballast
