/// The part of coordinator_core that lets a run go back: checkpoints, and the
/// way back to one when nobody is left that holds the newest state.
///
/// Rank 0 copies its state after every step whose number `every_steps` divides,
/// and when it is asked to. Once that step is committed the copy is fetched and
/// published; it can never be undone then but by going back behind it.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// Of periodic copies, beside those that are fetched or about to be.
constexpr size_t copies_max = 8;
/// How often, and how soon, a copy that was asked for is made again where it
/// could not be fetched.
constexpr uint32_t copy_attempts_max = 10;
constexpr std::chrono::seconds copy_retry{1};

} // namespace

/// The newest committed step, were its state on the disk.
restart_point coordinator_core::point_here() const {
  return {{}, *run_, run_->book};
}

/// After every commit: remembers what a copy of this state would need.
void coordinator_core::keep_point(actions& out) {
  uint64_t every = run_->what.checkpoint.every_steps;
  // The news of a copy comes before rank 0 reports any later step.
  if (run_->copied == run_->last.step || value(run_->last.step) % every == 0)
    run_->copies[run_->last.step] = point_here();
  for (auto it = run_->copies.begin();
       run_->copies.size() > copies_max && it != run_->copies.end();) {
    bool needed =
        it->first == run_->copied ||
        (run_->copy_on_its_way && it->first == run_->copy_on_its_way->step);
    it = needed ? std::next(it) : run_->copies.erase(it);
  }
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
  // A busy worker told of later steps first: what a copy of that step needs is
  // not known any more.
  if (point == run_->copies.end() && owes_copy())
    want_copy(out);
  if (point == run_->copies.end() || step <= run_->points.back().step() ||
      members.data_addresses.at(0).empty() ||
      !nodes_.at(members.workers[0]).connected)
    return;
  run_->copies.erase(run_->copies.begin(), point);
  bool requested = std::exchange(run_->copy_wanted, false) ||
                   run_->asked.stop || run_->parking || run_->refused;
  run_->copy_on_its_way = point->second.tally.identity();
  out.push_back(fetch_checkpoint{members.workers[0], members.data_addresses[0],
                                 *run_->copy_on_its_way,
                                 run_->what.checkpoint.keep, requested});
}

actions coordinator_core::on_copied(const state_copied& message) {
  actions out;
  if (!member(message.worker, message.generation) ||
      rank_of(message.worker) != 0)
    return out;
  run_->copied = message.step;
  if (message.step == run_->last.step)
    run_->copies.try_emplace(message.step, point_here());
  fetch_copy(out);
  return out;
}

actions coordinator_core::on_checkpoint(const checkpoint_identity& after,
                                        std::string file, failure problem,
                                        instant now) {
  actions out;
  if (!active() || run_->copy_on_its_way != after)
    return out; // of an earlier run
  run_->copy_on_its_way.reset();
  auto point = run_->copies.find(after.step);
  // Rank 0 holds one copy: a newer one replaced it while it was fetched.
  bool superseded = run_->copied && *run_->copied > after.step;
  if (problem && !superseded) {
    out.push_back(write_event{events::checkpoint_failed{after.step, problem}});
  } else if (!problem && point != run_->copies.end() &&
             point->second.tally.identity() == after) {
    point->second.checkpoint = std::move(file);
    // The first one is the seed, which costs nothing to keep.
    while (run_->points.size() > run_->what.checkpoint.keep)
      run_->points.erase(run_->points.begin() + 1);
    run_->points.push_back(std::move(point->second));
    run_->copies.erase(point);
    run_->deaths_in_vain = 0;
  }
  // Whoever asked for it was answered ok. A full disk has been waited for.
  if (problem && problem.code != errc::disk_full && owes_copy() &&
      ++run_->copy_failures < copy_attempts_max)
    run_->copy_again = now + copy_retry;
  fetch_copy(out);
  if (phase() == run_phase::finishing && run_->members &&
      !run_->copy_on_its_way)
    hand_over(out);
  conclude_refused(out, now);
  return out;
}

coordinator_core::reply coordinator_core::checkpoint() {
  switch (phase()) {
  case run_phase::loading:
  case run_phase::training:
  case run_phase::paused:
  case run_phase::recovering:
    break;
  default:
    return {{errc::bad_request,
             "nothing to copy: the run is " + to_string(phase()),
             {}},
            {}};
  }
  reply out;
  run_->asked.copy = run_->last.step;
  run_->copy_failures = 0;
  out.then.push_back(journal_requests{run_->asked});
  want_copy(out.then);
  return out;
}

/// A user asked for a copy, and none of that step or a later one is published.
bool coordinator_core::owes_copy() const {
  return run_->asked.copy && run_->points.back().step() <
                                 std::max(step_number{1}, *run_->asked.copy);
}

/// Rank 0 copies its state after the step in flight; of a generation that is
/// not ready yet it is asked for that once it is.
void coordinator_core::want_copy(actions& out) {
  run_->copy_wanted = true;
  if (!run_->members || run_->fenced ||
      run_->members->ready.size() < run_->members->workers.size())
    return;
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
/// becomes the state, and what was shown after it is undone. `reason` is a
/// copy: what it usually comes from ends here.
void coordinator_core::go_back(actions& out, std::string reason) {
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
  if (lost > point.step()) {
    run_->undone = lost;
    out.push_back(undo_steps{point.step(), point.tally.last.epoch, reason});
  }
  static_cast<run_tally&>(*run_) = point.tally;
  run_->timed = false;
  run_->rate.restart();
  run_->refused.reset(); // it is done again, and refused again
  run_->model_sought.reset();
  run_->waits.clear();
  run_->parking = false;
  run_->book = point.book;
  run_->plans.clear();
  run_->offered.clear();
  if (run_->book)
    run_->plans[run_->book->current().number] = run_->book->current();
  // Whoever is still there drops what it holds when it is assigned anew.
  run_->members.reset();
  run_->phase = run_phase::waiting;
  if (run_->asked.stop)
    return end_without_holders(out, reason);
  out.push_back(write_workers{});
  form_generation(out);
}

} // namespace ballast
