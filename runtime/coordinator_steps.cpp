/// The part of coordinator_core that follows a run: what is committed, shown,
/// paused and finished.
#include "runtime/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

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
  // First what is shown, then what follows from it.
  out.push_back(write_steps{std::move(steps)});
  out.insert(out.end(), more.begin(), more.end());
}

void coordinator_core::commit(const committed_step& step, actions& out) {
  if (run_->members && run_->last.t_ns > 0 && step.t_ns > run_->last.t_ns &&
      run_->members->step_us.size() < load_steps_max)
    run_->members->step_us.push_back((step.t_ns - run_->last.t_ns) / 1000);
  acquit(step);
  follow(*run_->book, step);
  run_->plans.erase(run_->plans.begin(),
                    run_->plans.lower_bound(run_->book->current().number));
  if (run_->count(step, run_->set.train_rows)) {
    run_->suspects.clear(); // all of the epoch are committed
    out.push_back(write_event{"epoch",
                              {{"epoch", value(step.epoch)},
                               {"step", value(step.step)},
                               {"samples", run_->epoch_samples},
                               {"train_loss", *run_->train_loss}}});
    out.push_back(journal_commit{step.step, step.epoch});
  }
  keep_point(out);
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
  if (member(report.worker, report.generation))
    note_evaluation(report, out);
  return out;
}

/// Equal on every rank: the first word counts, whoever dies before its own.
void coordinator_core::note_evaluation(const evaluation_report& report,
                                       actions& out) {
  if (run_->test && run_->test->epoch >= report.epoch)
    return;
  run_->test = report;
  if (value(report.epoch) < run_->what.train.epochs)
    run_->evaluated_ns += report.wall_ns;
  nlohmann::ordered_json fields{{"epoch", value(report.epoch)},
                                {"test_loss", report.loss},
                                {"test_rows", report.rows},
                                {"ms", double(report.wall_ns) / 1e6}};
  if (run_->set.classes > 0)
    fields["test_accuracy"] = report.accuracy;
  out.push_back(write_event{"evaluation", std::move(fields)});
}

actions coordinator_core::on_paused(const worker_paused& message, instant now) {
  if (!member(message.worker, message.generation))
    return {};
  generation_state& members = *run_->members;
  members.paused.insert(message.worker);
  if (phase() != run_phase::training ||
      members.paused.size() < members.workers.size())
    return {};
  run_->phase = run_phase::paused;
  actions out;
  if (run_->recovery) // no step will follow for now
    recovered(out, now);
  out.push_back(write_event{"paused", {{"step", value(message.step)}}});
  out.push_back(write_workers{});
  if (run_->asked.stop)
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
  out.push_back(write_workers{});
  // The copy of the state that a stopped run goes on from, then the model.
  fetch_copy(out);
  if (!run_->copy_on_its_way)
    fetch_from_somebody(out, "all of them are lost");
  return out;
}

/// Asks everybody at most once. A death meanwhile needs no other answer than
/// the failure of the fetch.
void coordinator_core::fetch_from_somebody(actions& out,
                                           const std::string& problem) {
  const generation_state& members = *run_->members;
  for (size_t rank = 0; rank < members.workers.size(); ++rank) {
    worker_id who = members.workers[rank];
    if (nodes_.at(who).connected && asked_for_model_.insert(who).second) {
      out.push_back(
          fetch_model{who, members.data_addresses[rank], run_->weights_sha256});
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
  fail(out, {errc::worker_lost, why, {}});
}

actions coordinator_core::on_model_saved(failure problem) {
  if (phase() != run_phase::finishing)
    return {};
  actions out;
  if (problem) {
    fetch_from_somebody(out, problem.message);
    return out;
  }
  bool cut = run_->members->finished.begin()->second.stopped;
  finish(out, cut ? run_phase::stopped : run_phase::done,
         cut ? run_->asked.stop_code() : 0, cut ? "stopped" : "");
  return out;
}

} // namespace ballast
