/// The part of coordinator_core that follows a run: what is committed, shown,
/// paused and finished.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// Often enough for what workers keep (step_history.hpp), seldom enough to cost
/// nothing.
constexpr uint64_t recorded_every = 16'384;

} // namespace

void coordinator_core::commit_all(std::vector<committed_step> steps,
                                  actions& out) {
  if (steps.empty())
    return;
  actions more;
  for (committed_step& step : steps) {
    // A fence may have come before anybody told of the switch.
    if (run_->transfer && run_->transfer->sent &&
        run_->transfer->offered.number == step.plan)
      transfer_took_effect(out, step.step);
    if (run_->change && run_->change->offered.number == step.plan)
      tell_switch(out, *run_->change, step.step);
    // Told first: the next coordinator tells what is not.
    if (run_->offered.erase(step.plan) > 0)
      out.push_back(journal_effective{step.plan, {step.epoch, step.step}});
    const plan& under = run_->plans.at(step.plan);
    step.generation = under.generation;
    step.world = uint32_t(under.shares.size());
    commit(step, more);
  }
  const step_number last = steps.back().step;
  const uint64_t count = steps.size();
  // First what is shown, then what follows from it.
  out.push_back(write_steps{std::move(steps)});
  out.insert(out.end(), more.begin(), more.end());
  // Now and then workers hear which steps they need not keep.
  if (value(last) / recorded_every != (value(last) - count) / recorded_every)
    for (worker_id who : run_->members->workers)
      out.push_back(send_command{who,
                                 {.term = config_.term,
                                  .generation = run_->members->number,
                                  .kind = command_kind::recorded,
                                  .reason = "",
                                  .step = last}});
}

void coordinator_core::commit(const committed_step& step, actions& out) {
  if (run_->members && run_->last.t_ns > 0 && step.t_ns > run_->last.t_ns &&
      run_->members->step_us.size() < load_steps_max)
    run_->members->step_us.push_back((step.t_ns - run_->last.t_ns) / 1000);
  if (run_->members && step.generation == run_->members->number &&
      !std::exchange(run_->members->took_a_step, true)) {
    proven_.insert(run_->members->workers.begin(),
                   run_->members->workers.end());
    run_->opening.reset();
  }
  run_->sound = true;
  acquit(step);
  follow(*run_->book, step);
  run_->lineage = lineage_after(
      run_->lineage, step,
      step.plan == run_->last.plan ? nullptr : &run_->book->current());
  run_->plans.erase(run_->plans.begin(),
                    run_->plans.lower_bound(run_->book->current().number));
  if (run_->count(step, run_->set.train_rows)) {
    run_->suspects.clear(); // all of the epoch are committed
    tell_thinned(out,
                 events::epoch_ended{step.epoch, step.step, run_->epoch_samples,
                                     *run_->train_loss},
                 value(step.epoch) == run_->what.train.epochs);
    out.push_back(journal_commit{step.step, step.epoch});
  }
  run_->rate.count(step.t_ns, run_->samples);
  keep_point(out);
}

/// An event that quick epochs would fill the disk with: one that is left out is
/// still written at the end of the run, if no newer one was.
void coordinator_core::tell_thinned(actions& out, run_event what, bool last) {
  run::thinned& one = run_->thinned_events[what.index()];
  bool told = one.budget.take(ticked_.value_or(instant{0})) || last;
  if (told) {
    one.untold.reset();
    out.push_back(write_event{std::move(what)});
  } else {
    one.untold = std::move(what);
  }
}

actions coordinator_core::on_progress(const progress_report& report,
                                      instant now) {
  // Also during a fence: what was applied before it counts. And a worker may
  // report after a switch what it applied before it, and the other way round.
  if (!active() || !run_->members || report.steps.empty())
    return {};
  if (run_->change && report.generation == run_->change->number &&
      !member(report.worker, run_->members->number)) {
    run_->members->commits.note(report.steps);
    run_->change->applied[report.worker] = report.steps.back().step;
    return {};
  }
  if (!member(report.worker, run_->members->number) ||
      (report.generation != run_->members->number &&
       report.generation != run_->members->before &&
       !(run_->change && report.generation == run_->change->number)))
    return {};
  size_t rank = rank_of(report.worker);
  generation_state& members = *run_->members;
  progress_report& kept = members.rates[rank];
  note_load(rank, report);
  kept = report;
  kept.steps.clear();
  kept.costs.clear();
  actions out;
  commit_all(members.commits.applied(rank, report.steps), out);
  if (run_->recovery && run_->phase == run_phase::training &&
      members.commits.committed() > members.commits.base())
    recovered(out, now);
  return out;
}

actions coordinator_core::on_evaluated(const evaluation_report& report) {
  actions out;
  // Who does the last step before a switch evaluates it as what it was then,
  // also one that leaves.
  const bool of_before = active() && run_->members &&
                         report.generation == run_->members->before &&
                         nodes_.contains(report.worker);
  if (of_before || member(report.worker, report.generation))
    note_evaluation(report, out);
  return out;
}

/// Equal on every rank: the first word counts, whoever dies before its own.
void coordinator_core::note_evaluation(const evaluation_report& report,
                                       actions& out) {
  if (run_->test && run_->test->epoch >= report.epoch)
    return;
  run_->test = report;
  run_->evaluated_ns += report.wall_ns;
  events::evaluated told{report.epoch, report.loss, report.rows,
                         std::chrono::nanoseconds(report.wall_ns)};
  if (run_->set.classes > 0)
    told.accuracy = report.accuracy;
  tell_thinned(out, std::move(told),
               value(report.epoch) == run_->what.train.epochs);
}

actions coordinator_core::on_paused(const worker_paused& message, instant now) {
  if (!member(message.worker, message.generation))
    return {};
  generation_state& members = *run_->members;
  members.paused.insert(message.worker);
  if (phase() != run_phase::training ||
      members.paused.size() < members.workers.size())
    return {};
  actions out;
  if (!run_->asked.paused && !run_->asked.stop && !run_->parking) {
    // Withdrawn after they had agreed to it.
    members.paused.clear();
    to_all(out, command_kind::resume, "resume");
    return out;
  }
  run_->phase = run_phase::paused;
  if (run_->recovery) // no step will follow for now
    recovered(out, now);
  out.push_back(write_event{events::paused{message.step}});
  out.push_back(write_workers{});
  if (run_->asked.stop || run_->parking)
    to_all(out, command_kind::stop, "stop");
  return out;
}

actions coordinator_core::on_finished(const worker_finished& message) {
  // Behind a fence they finish again, in the next generation.
  if (!member(message.worker, message.generation) || run_->fenced)
    return {};
  generation_state& members = *run_->members;
  members.finished[message.worker] = message;
  if (members.finished.size() < members.workers.size())
    return {};
  const worker_finished& first = members.finished.begin()->second;
  for (const auto& [who, other] : members.finished)
    if (other.weights_sha256 != first.weights_sha256 ||
        other.step != first.step)
      return fail({errc::digest_mismatch,
                   "workers " + name_of(first.worker) + " and " + name_of(who) +
                       " end with different parameters",
                   {}});
  if (members.commits.committed() != first.step)
    return fail({errc::internal,
                 "the parameters contain steps up to " + to_string(first.step) +
                     ", but only those up to " +
                     to_string(members.commits.committed()) + " were reported",
                 {}});
  run_->phase = run_phase::finishing;
  run_->weights_sha256 = first.weights_sha256;
  actions out{journal_commit{first.step, run_->last.epoch}};
  asked_for_model_.clear();
  run_->model_sought.reset();
  out.push_back(write_workers{});
  // The copy of the state that a stopped run goes on from, then the model.
  fetch_copy(out);
  if (!run_->copy_on_its_way)
    hand_over(out);
  return out;
}

/// All have finished, and no copy of their state is under way.
void coordinator_core::hand_over(actions& out) {
  if (run_->parking && run_->members->finished.begin()->second.stopped)
    park(out);
  else
    fetch_from_somebody(out, "all of them are lost");
}

/// Asks every worker once. A death meanwhile needs no other answer than the
/// failure of the fetch.
void coordinator_core::fetch_from_somebody(actions& out,
                                           const std::string& problem) {
  const generation_state& members = *run_->members;
  for (size_t rank = 0; rank < members.workers.size(); ++rank) {
    worker_id who = members.workers[rank];
    if (nodes_.at(who).connected && asked_for_model_.insert(who).second) {
      out.push_back(fetch_model{who, members.data_addresses[rank],
                                run_->weights_sha256, run_->last.step});
      return;
    }
  }
  std::string why =
      "no worker is left that the final model could be fetched from: " +
      problem;
  bool here =
      std::any_of(members.workers.begin(), members.workers.end(),
                  [this](worker_id who) { return nodes_.at(who).connected; });
  if (!here) // but others will come, and do the last steps again
    return go_back(out, why);
  // Dead, and its connection not seen to close yet; or frozen, or cut off for
  // a while. The model is still in its memory.
  if (!run_->model_sought)
    run_->model_sought.emplace();
  run_->model_sought->why = why;
}

/// Once a heartbeat, as long as the grace lasts.
void coordinator_core::ask_again_for_model(actions& out, instant now) {
  if (phase() != run_phase::finishing || !run_->model_sought ||
      run_->model_sought->why.empty())
    return;
  model_search& sought = *run_->model_sought;
  if (sought.until == instant{}) {
    sought.until = now + std::chrono::seconds(run_->what.elastic.grace_s);
    sought.again = now + config_.heartbeat;
    say_waiting(out, "the final model is fetched again: " + sought.why);
  }
  if (now >= sought.until)
    return fail(out, {errc::worker_lost, sought.why, {}});
  if (now < sought.again)
    return;
  sought.again = now + config_.heartbeat;
  asked_for_model_.clear();
  fetch_from_somebody(out, std::exchange(sought.why, {}));
}

actions coordinator_core::on_model_saved(const saved_model& what) {
  if (phase() != run_phase::finishing)
    return {};
  actions out;
  if (what.problem && !run_->members) {
    fail(out,
         {what.problem.code, run_->reason + ": " + what.problem.message, {}});
    return out;
  }
  if (what.problem) {
    fetch_from_somebody(out, what.problem.message);
    return out;
  }
  if (!what.weights_sha256.empty())
    run_->weights_sha256 = what.weights_sha256;
  run_->model_step = value(what.step) > 0 ? what.step : run_->last.step;
  bool cut = !run_->members || run_->members->finished.begin()->second.stopped;
  std::string reason = !run_->members ? run_->reason : cut ? "stopped" : "";
  if (!what.note.empty())
    reason += (reason.empty() ? "" : "; ") + what.note;
  finish(out, cut ? run_phase::stopped : run_phase::done,
         cut ? run_->asked.stop_code() : 0, std::move(reason));
  return out;
}

} // namespace ballast
