/// The part of coordinator_core that lets a run go back: checkpoints, and the
/// way back to one when nobody is left that holds the newest state.
///
/// Rank 0 copies its state after every step whose number `every_steps` divides,
/// and when it is asked to. Once that step is committed the copy is fetched and
/// published; it can never be undone then but by going back behind it.
#include "runtime/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// Steps that may be committed between a copy and the news of it.
constexpr size_t copies_max = 4096;

} // namespace

/// The newest committed step, were its state on the disk.
restart_point coordinator_core::point_here() const {
  return {{}, *run_, run_->book};
}

/// After every commit: remembers what a copy of this state would need.
void coordinator_core::keep_point(actions& out) {
  uint64_t every = run_->what.checkpoint.every_steps;
  if (run_->copy_wanted || value(run_->last.step) % every == 0)
    run_->copies[run_->last.step] = point_here();
  if (run_->copies.size() > copies_max)
    run_->copies.erase(run_->copies.begin());
  fetch_copy(out);
}

/// Fetches what rank 0 has copied, as soon as that is committed.
void coordinator_core::fetch_copy(actions& out) {
  if (!run_->copied || run_->copy_on_its_way || !run_->members ||
      *run_->copied > run_->last.step)
    return;
  step_number step = *std::exchange(run_->copied, std::nullopt);
  auto point = run_->copies.find(step);
  const generation_state& members = *run_->members;
  if (point == run_->copies.end() || step <= run_->points.back().step() ||
      members.data_addresses.at(0).empty() ||
      !nodes_.at(members.workers[0]).connected)
    return;
  run_->copies.erase(run_->copies.begin(), point);
  run_->copy_wanted = false;
  run_->copy_on_its_way = true;
  out.push_back(fetch_checkpoint{members.workers[0],
                                 members.data_addresses[0],
                                 {point->second.tally.last.epoch, step},
                                 run_->what.checkpoint.keep});
}

actions coordinator_core::on_copied(const state_copied& message) {
  actions out;
  if (!member(message.worker, message.generation) ||
      rank_of(message.worker) != 0)
    return out;
  run_->copied = message.step;
  if (message.step == run_->last.step)
    run_->copies.try_emplace(message.step, point_here());
  else if (message.step > run_->last.step)
    run_->copy_wanted = true; // once it is committed
  fetch_copy(out);
  return out;
}

actions coordinator_core::on_checkpoint(position after, std::string file,
                                        failure problem, instant now) {
  actions out;
  if (!active())
    return out;
  run_->copy_on_its_way = false;
  auto point = run_->copies.find(after.step);
  if (problem) {
    out.push_back(write_event{"checkpoint_failed",
                              {{"step", value(after.step)},
                               {"code", to_string(problem.code)},
                               {"message", problem.message}}});
  } else if (point != run_->copies.end()) {
    point->second.checkpoint = std::move(file);
    // The first one is the seed, which costs nothing to keep.
    while (run_->points.size() > run_->what.checkpoint.keep)
      run_->points.erase(run_->points.begin() + 1);
    run_->points.push_back(std::move(point->second));
    run_->copies.erase(point);
    run_->deaths_in_vain = 0;
  }
  if (phase() == run_phase::finishing)
    fetch_from_somebody(out, "all of them are lost");
  else
    fetch_copy(out);
  conclude_refused(out, now);
  return out;
}

coordinator_core::reply coordinator_core::checkpoint() {
  if (phase() != run_phase::training && phase() != run_phase::paused)
    return {{errc::bad_request,
             "nothing to copy: the run is " + to_string(phase()),
             {}},
            {}};
  reply out;
  want_copy(out.then);
  return out;
}

/// Rank 0 copies its state after the step in flight.
void coordinator_core::want_copy(actions& out) {
  run_->copy_wanted = true;
  if (run_->samples > 0)
    run_->copies[run_->last.step] = point_here();
  const generation_state& members = *run_->members;
  out.push_back(send_command{
      members.workers[0],
      {config_.term, members.number, command_kind::checkpoint, "checkpoint"}});
}

/// Somebody is here for it, or will come.
bool coordinator_core::can_go_back() const {
  return !config_.supervised || respawns() ||
         std::any_of(nodes_.begin(), nodes_.end(),
                     [](const auto& one) { return one.second.connected; });
}

/// Nobody holds the newest shown state any more: the newest one on the disk
/// becomes the state, and what was shown after it is undone.
void coordinator_core::go_back(actions& out, const std::string& reason) {
  if (!can_go_back()) {
    fail(out, {errc::worker_lost, reason, {}});
    return;
  }
  died_in_vain(out);
  restart_point point = run_->points.back();
  step_number lost = run_->last.step;
  run_->fenced.reset();
  run_->change.reset();
  drop_transfer(out, reason);
  run_->recovery.reset();
  run_->copies.clear();
  run_->copied.reset();
  run_->may_return.clear();
  if (lost > point.step())
    out.push_back(undo_steps{point.step(), point.tally.last.epoch, reason});
  static_cast<run_tally&>(*run_) = point.tally;
  run_->book = point.book;
  run_->plans.clear();
  run_->offered.clear();
  if (run_->book)
    run_->plans[run_->book->current().number] = run_->book->current();
  // Whoever is still there drops what it holds when it is assigned anew.
  run_->members.reset();
  run_->phase = run_phase::waiting;
  if (run_->asked.stop)
    return finish(out, run_phase::stopped, run_->asked.stop_code(),
                  "stopped; " + reason);
  out.push_back(write_workers{});
  form_generation(out);
}

} // namespace ballast
