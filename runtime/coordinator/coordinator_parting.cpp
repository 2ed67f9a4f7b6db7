/// The part of coordinator_core that deals with a run whose workers all leave.
/// A newcomer takes the state over where one comes in time; else the state goes
/// to the disk before the last ones are let go, and the run waits there.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>

namespace ballast {

/// Most of the time that a process has for its end is left for a newcomer.
void coordinator_core::part_from_all(actions& out, instant now) {
  auto leaves = [this](worker_id who) { return leaving_.contains(who); };
  bool all = (phase() == run_phase::training || phase() == run_phase::paused) &&
             !run_->asked.stop &&
             std::all_of(run_->members->workers.begin(),
                         run_->members->workers.end(), leaves);
  if (!all) {
    if (run_->all_leave && phase() == run_phase::training)
      run_->waits.clear();
    run_->all_leave.reset();
    return;
  }
  bool one_comes =
      run_->change ||
      (phase() == run_phase::training &&
       std::any_of(nodes_.begin(), nodes_.end(), [&](const auto& one) {
         return one.second.connected && !leaves(one.first) &&
                !member(one.first, run_->members->number);
       }));
  if (!run_->all_leave) {
    run_->all_leave = now;
    want_copy(out);
    if (!one_comes)
      say_waiting(out, "every worker is asked to leave: waits for another one "
                       "to take over");
  }
  auto patience = std::chrono::seconds(run_->what.elastic.grace_s) * 4 / 5;
  if (one_comes || run_->parking || now - *run_->all_leave < patience)
    return;
  run_->parking = true;
  to_all(out, command_kind::stop, "every worker leaves");
}

/// All have finished and the newest copy of their state is published, or is
/// not to be had.
void coordinator_core::park(actions& out) {
  run_->parking = false;
  run_->all_leave.reset();
  const restart_point& point = run_->points.back();
  if (point.step() != run_->last.step)
    return go_back(out, "every worker left, and the state after step " +
                            to_string(run_->last.step) +
                            " could not be written");
  run_->change.reset();
  run_->recovery.reset();
  run_->copies.clear();
  run_->copied.reset();
  run_->plans.clear();
  run_->offered.clear();
  run_->plans[run_->book->current().number] = run_->book->current();
  for (worker_id who : run_->members->workers)
    if (nodes_.at(who).connected && leaving_.contains(who))
      let_go(out, who);
  run_->members.reset();
  run_->phase = run_phase::waiting;
  out.push_back(write_workers{});
  say_waiting(out, "every worker has left; waits for one that goes on from " +
                       point.checkpoint);
  form_generation(out);
}

/// It owes nothing to anybody, or nothing any more.
void coordinator_core::let_go(actions& out, worker_id who) {
  node& leaver = nodes_.at(who);
  leaver.connected = false;
  leaver.left = true;
  leaving_.erase(who);
  detector_.forget(who);
  stragglers_.forget(who);
  out.push_back(write_event{events::worker_left{process_of(leaver)}});
  out.push_back(send_command{
      who, {config_.term, last_generation_, command_kind::leave, "left"}});
}

} // namespace ballast
