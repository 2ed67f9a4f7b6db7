/// What is committed, shown, evaluated and paused.
#include "runtime/coordinator/judging.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

namespace {

/// Often enough for what workers keep (step_history.hpp), seldom enough to cost
/// nothing.
constexpr uint64_t recorded_every = 16'384;

/// Its plan may have taken effect without a word. Told first: the next
/// coordinator tells what is not.
void enter_plan_of(coordinator_parts& p, ledger::committed_step& step) {
  pending_plans* pending = p.members.pending();
  if (pending && pending->transfer && pending->transfer->sent &&
      pending->transfer->offered.number == step.plan)
    transfer_took_effect(p, step.step);
  if (pending && pending->change &&
      pending->change->offered.number == step.plan)
    tell_switch(p, *pending->change, step.step);
  if (p.run.steps.take_effect(step.plan))
    p.out.put(journal_effective{step.plan, {step.epoch, step.step}});
  const ledger::plan& under = p.run.steps.issued(step.plan);
  step.generation = under.generation;
  step.world = uint32_t(under.shares.size());
}

/// After every commit: remembers what a copy of this state would need.
void keep_point(coordinator_parts& p) {
  p.run.copies.committed(p.run.steps.here(),
                         p.run.spec.job.checkpoint.every_steps);
  fetch_copy(p);
}

void commit(coordinator_parts& p, const ledger::committed_step& step) {
  generation_state& members = *p.members.members();
  const ledger::committed_step& last = p.run.steps.last();
  if (last.t_ns > 0 && step.t_ns > last.t_ns)
    p.run.balance.step_took((step.t_ns - last.t_ns) / 1000);
  if (step.generation == members.number &&
      !std::exchange(members.took_a_step, true)) {
    p.nodes.prove(members.workers);
    p.run.links.took_a_step();
  }
  if (p.run.suspects.suspects_any())
    p.run.suspects.acquit(p.run.steps.book_under(step.plan));
  p.run.cost.step(step, p.run.steps.tally().evaluated_ns);
  if (p.run.steps.commit(step, p.run.spec.set.train_rows)) {
    p.run.suspects.epoch_over();
    const run_tally& tally = p.run.steps.tally();
    p.run.steps.tell_thinned(p.out,
                             events::epoch_ended{step.epoch, step.step,
                                                 tally.epoch_samples,
                                                 *tally.train_loss},
                             value(step.epoch) == p.run.spec.job.train.epochs,
                             std::max(p.ticked, instant{0}));
    p.out.put(journal_commit{step.step, step.epoch});
  }
  keep_point(p);
}

} // namespace

void commit_all(coordinator_parts& p,
                std::vector<ledger::committed_step> steps) {
  if (steps.empty())
    return;
  for (ledger::committed_step& step : steps)
    enter_plan_of(p, step);
  const step_number last = steps.back().step;
  const uint64_t count = steps.size();
  // First what is shown, then what follows from it.
  p.out.put(write_steps{steps});
  for (const ledger::committed_step& step : steps)
    commit(p, step);
  // Now and then workers hear which steps they need not keep.
  if (value(last) / recorded_every == (value(last) - count) / recorded_every)
    return;
  const generation_state& members = *p.members.members();
  for (worker_id who : members.workers)
    p.out.put(send_command{who,
                           {.term = p.config.term,
                            .generation = members.number,
                            .kind = command_kind::recorded,
                            .reason = "",
                            .step = last}});
}

template <>
void on(coordinator_parts& p, const progress_report& report, instant now) {
  // Also during a fence: what was applied before it counts. And a worker may
  // report after a switch what it applied before it, and the other way round.
  generation_state* members =
      p.members.active() ? p.members.members() : nullptr;
  if (!members || report.steps.empty())
    return;
  pending_plans* pending = p.members.pending();
  const bool of_change = pending && pending->change &&
                         report.generation == pending->change->number;
  if (of_change && !members->holds(report.worker)) {
    members->commits.note(report.steps);
    pending->change->applied[report.worker] = report.steps.back().step;
    return;
  }
  if (!members->holds(report.worker) ||
      (report.generation != members->number &&
       report.generation != members->before && !of_change))
    return;
  const size_t rank = members->rank_of(report.worker);
  p.run.balance.report(rank, report);
  p.run.steps.reported(report);
  p.devices.worked(report.worker, report, now);
  p.run.time.worked(report.worker, report);
  commit_all(p, members->commits.applied(rank, report.steps));
  const training* s = p.members.in<training>();
  if (s && s->recovery && !s->paused &&
      s->members.commits.committed() > s->members.commits.base())
    tell_recovered(p, now);
}

template <>
void on(coordinator_parts& p, const evaluation_report& report, instant) {
  // Who does the last step before a switch evaluates it as what it was then,
  // also one that leaves.
  const generation_state* members = p.members.members();
  const bool of_before = p.members.active() && members &&
                         report.generation == members->before &&
                         p.nodes.all().contains(report.worker);
  if (!of_before && !p.members.member(report.worker, report.generation))
    return;
  p.run.time.evaluated(report.worker, report.step, report.wall_ns);
  if (fenced* s = p.members.in<fenced>())
    s->held.hear(report);
  else
    note_evaluation(p, report);
}

template <>
void on(coordinator_parts& p, const worker_paused& message, instant now) {
  if (!p.members.member(message.worker, message.generation))
    return;
  generation_state& members = *p.members.members();
  members.paused.insert(message.worker);
  training* s = p.members.in<training>();
  if (!s || s->paused || members.paused.size() < members.workers.size())
    return;
  const bool halts = p.run.requests.halts();
  if (!p.run.requests.paused() && !halts) {
    // Withdrawn after they had agreed to it.
    members.paused.clear();
    p.command_all(command_kind::resume, "resume");
    return;
  }
  s->paused = true;
  if (s->recovery) // no step will follow for now
    tell_recovered(p, now);
  p.out.tell(events::paused{message.step});
  p.out.put(write_workers{});
  if (halts)
    p.command_all(command_kind::stop, "stop");
}

void steer(coordinator_parts& p) {
  if (p.run.requests.halts())
    p.command_all(command_kind::stop, "stop");
  else if (p.run.requests.paused())
    p.command_all(command_kind::pause, "pause");
  if (p.run.copies.wanted())
    want_copy(p);
}

} // namespace ballast::coordinator
