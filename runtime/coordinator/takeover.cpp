/// A run that an earlier life of a coordinator led is taken over. Workers that
/// kept their state come back to it under the names that the journal knows; a
/// fence then asks them what they hold, as after any other failure. If none
/// comes back the run goes on from a checkpoint.
#include "runtime/coordinator/transitions.hpp"

#include "runtime/coordinator/past_steps.hpp"
#include "runtime/ledger/replay.hpp"

#include <algorithm>
#include <utility>

namespace ballast::coordinator {

namespace {

/// It went with the next planned change, not by a loss.
bool has_left(const past_run& past, const past_membership& of, worker_id who) {
  for (const past_plan& one : past.plans)
    if (one.body.generation > of.generation && one.effective) {
      const auto& shares = one.body.shares;
      return one.note.reason == "membership" &&
             std::none_of(
                 shares.begin(), shares.end(),
                 [who](const ledger::share& s) { return s.worker == who; });
    }
  return false;
}

/// Numbers and names that are never given again.
void note_given(coordinator_parts& p, const past_run& past) {
  for (const past_membership& one : past.memberships) {
    p.members.given(one.generation);
    for (size_t rank = 0; rank < one.workers.size(); ++rank) {
      const worker_id id = one.workers[rank];
      p.staff.note_name(one.names[rank]);
      p.nodes.remember(id, one.names[rank], one.incarnations[rank],
                       has_left(past, one, id));
    }
  }
  // Also of processes that no membership knows yet.
  if (past.alive)
    for (const std::string& name : *past.alive)
      p.staff.note_name(name);
  for (const past_plan& one : past.plans)
    p.members.given(one.body.number);
}

/// What users asked of the earlier life, as far as it still counts.
void take_over_requests(coordinator_parts& p, const past_run& past,
                        step_number begun_step) {
  requests& asked = p.run.requests;
  asked.restore(past.asked);
  // Ids missing from every journaled membership may be given again.
  bool less = asked.forget_leaving(
      [&](worker_id who) { return !p.nodes.all().contains(who); });
  // No worker is left to be stopped: that is done, however it ended.
  if (asked.stops() && past.asked_again && past.alive && past.alive->empty()) {
    asked.withdraw_stop();
    less = true;
  }
  // A user who resumes the run wants it to go on.
  const bool resumed = past.asked_again && asked.withdraw_pause();
  if (less || resumed)
    asked.journal(p.out);
  if (resumed)
    p.out.tell(events::resumed{begun_step, true});
  for (worker_id who : asked.standing().leaving)
    p.nodes.ask_to_leave(who);
}

} // namespace

failure take_over(coordinator_parts& p, past_run past, term life,
                  std::string token) {
  if (failure refused =
          begin_run(p, past.what, past.name, life, std::move(token)))
    return refused;
  const step_number begun_step =
      past.steps.empty() ? step_number{} : past.steps.back().step;
  p.out.tell(events::coordinator_started{
      p.config.term, past.name, p.config.build_id,
      events::coordinator_started::takeover{
          begun_step, past.checkpoints.empty()
                          ? step_number{}
                          : past.checkpoints.back().holds.step}});
  p.out.put(prepare_data{past.begun});
  note_given(p, past);
  p.run.balance.restore(past.balance);
  p.run.bits.restore(past.probe);
  p.staff.take_over(past.asked.workers_of(past.what), !past.plans.empty());
  take_over_requests(p, past, begun_step);
  p.members.become(preparing{std::move(past)});
  return {};
}

namespace {

/// Opens the last membership again, with no worker in it yet.
class reopening {
public:
  reopening(coordinator_parts& p, const past_run& past) : p_(p), past_(past) {
    for (const past_membership& one : past.memberships) {
      if (effective(one)) {
        last_ = &one;
        offered_ = nullptr;
      } else {
        offered_ = &one;
      }
    }
  }

  /// No plan was ever in force: nothing was trained.
  bool from_the_beginning() const { return !last_; }

  /// Behind a fence: members of earlier generations are excluded by it, for
  /// what they hold may be of another lineage.
  fenced result(instant now) {
    const recovery_reason why = recovery_reasons::coordinator_restarted{};
    const step_number shown = p_.run.steps.last().step;
    p_.run.balance.begin_generation(last_->workers.size());
    pending_plans pending = plans();
    std::set<worker_id> may_return;
    for (worker_id who : last_->workers)
      expect(who, may_return);
    if (pending.change)
      for (worker_id who : pending.change->workers)
        expect(who, may_return);
    recovery_times times{.reason = why, .begun = now};
    times.fenced = now;
    return {.members = {last_->generation, last_->workers,
                        ledger::commit_tracker(last_->workers.size(), shown,
                                               shown)},
            .pending = std::move(pending),
            .recovery = std::move(times),
            .held =
                fence(p_.members.newest_generation(), may_return, describe(why),
                      now, p_.nodes.detector().return_patience()),
            .may_return = may_return};
  }

private:
  bool effective(const past_membership& one) const {
    return std::any_of(past_.plans.begin(), past_.plans.end(),
                       [&](const past_plan& plan) {
                         return plan.body.generation == one.generation &&
                                plan.effective.has_value();
                       });
  }

  void expect(worker_id who, std::set<worker_id>& may_return) {
    const node& known = p_.nodes.at(who);
    if (p_.nodes.joined_anew(who))
      return;
    if (!past_.alive || past_.alive->contains(known.about.name))
      may_return.insert(who);
    else if (!past_.lost.contains({known.about.name, known.incarnation}))
      p_.out.tell(events::worker_lost{known.about.name, known.incarnation,
                                      std::nullopt, losses::ended_unseen{},
                                      kept_gradients(who)});
  }

  /// It computed the steps that others go on from. Where none of these lives,
  /// a checkpoint does, which lacks nothing.
  bool kept_gradients(worker_id who) const {
    const auto& members = last_->workers;
    return p_.run.spec.compresses() &&
           std::find(members.begin(), members.end(), who) != members.end() &&
           std::any_of(last_->names.begin(), last_->names.end(),
                       [this](const std::string& name) {
                         return past_.alive->contains(name);
                       });
  }

  /// What was under way may be in force: then that is still to be told.
  pending_plans plans() const {
    pending_plans out;
    if (offered_) {
      membership_change& change = out.change.emplace();
      change.number = offered_->generation;
      change.workers = offered_->workers;
      change.addresses.resize(change.workers.size());
      change.data_addresses.resize(change.workers.size());
    }
    for (const past_plan& one : past_.plans) {
      if (one.effective || one.told)
        continue;
      if (one.body.generation == last_->generation) {
        pending_rebalance& transfer = out.transfer.emplace();
        transfer.offered = one.body;
        transfer.note = one.note;
        transfer.sent = true;
      } else if (offered_ && one.body.generation == offered_->generation) {
        out.change->offered = one.body;
        out.change->shares = one.note.shares;
      }
    }
    return out;
  }

  coordinator_parts& p_;
  const past_run& past_;
  const past_membership* last_ = nullptr;    // that was in force
  const past_membership* offered_ = nullptr; // after it
};

/// The workers of the earlier life must be back within orphan_s.
void fence_returning(coordinator_parts& p, fenced next, instant now) {
  p.lost.await_return(now +
                      std::chrono::seconds(p.run.spec.elastic().orphan_s));
  const bool complete = next.held.complete();
  p.members.become(std::move(next));
  // Also those of earlier generations, which nobody waits for: they still step
  // there, and would get ready for the next one beside it, for ever.
  for (const auto& [who, one] : p.nodes.all())
    if (one.connected)
      p.out.put(send_fence{who, p.fence_now()});
  p.out.put(write_workers{});
  if (complete)
    decide(p, now);
}

/// Workers of generations that took a step.
void prove_earlier(coordinator_parts& p, const past_run& past) {
  std::set<generation> trained;
  for (const ledger::committed_step& step : past.steps)
    trained.insert(step.generation);
  for (const past_membership& one : past.memberships)
    if (trained.contains(one.generation))
      p.nodes.prove(one.workers);
}

void tell_repairs(coordinator_parts& p, past_steps& found) {
  for (refused_checkpoint& one : found.refused)
    p.out.put(refuse_checkpoint{one.what.file, std::move(one.why)});
  if (found.lost.empty())
    return;
  p.out.tell(
      events::steps_restored{found.lost.front().step, found.lost.back().step});
  p.out.put(write_steps{std::move(found.lost)});
}

} // namespace

void restore(coordinator_parts& p, past_run past, instant now) {
  const run_spec& spec = p.run.spec;
  if (past.rows != spec.set.train_rows)
    return fail(p,
                {errc::run_dir_unusable,
                 "the training set has " + std::to_string(spec.set.train_rows) +
                     " rows now, the run began with " +
                     std::to_string(past.rows) + ": it cannot go on",
                 {}});
  ledger::recorded_run record{spec.rows(), {}};
  for (const past_plan& one : past.plans)
    if (one.effective)
      record.plans.push_back({one.body, *one.effective});
  const uint64_t batch = std::max<uint64_t>(spec.batch(), 1);
  std::optional<evaluation_schedule> due;
  if (spec.set.test_rows > 0)
    due = spec.evaluations();
  past_steps found = check_past_steps(
      past, record, p.run.steps.tally().lineage,
      spec.job.train.epochs * ((past.rows + batch - 1) / batch), due);
  if (found.problem)
    return fail(p, std::move(found.problem));
  p.run.steps.restore(past, found.tally, std::move(found.book));
  p.run.copies.restore(std::move(found.points));
  p.run.cost.restore(p.run.steps.tally().timed_ns, past.undone);
  prove_earlier(p, past);
  if (p.run.requests.owes_copy(p.run.copies.newest_on_disk().step()))
    p.run.copies.want();
  tell_repairs(p, found);
  reopening last(p, past);
  if (!last.from_the_beginning())
    return fence_returning(p, last.result(now), now);
  p.members.become(waiting{});
  if (p.run.requests.stops())
    end_without_holders(p, "");
  else
    form_generation(p);
}

bool returns(const coordinator_parts& p, const worker_hello& hello) {
  if (!p.members.active() || hello.was == worker_id{} ||
      hello.run != p.run.spec.name || !p.nodes.all().contains(hello.was))
    return false;
  const node& known = p.nodes.at(hello.was);
  if (known.connected || known.about.name != hello.name)
    return false;
  const preparing* before = p.members.in<preparing>();
  const fenced* s = p.members.in<fenced>();
  return (before && before->past) || (s && s->may_return.contains(hello.was));
}

welcome welcome_back(coordinator_parts& p, const worker_hello& hello,
                     instant now) {
  const node& back = p.nodes.at(hello.was);
  p.members.given(hello.seen);
  if (hello.leaving)
    p.run.requests.leave(p.out, back.id);
  if (fenced* s = p.members.in<fenced>()) {
    if (s->held.awaited().contains(back.id))
      s->held.asked(now); // it hears of it only now
    p.out.put(send_fence{back.id, p.fence_now()});
  }
  p.out.tell(events::worker_returned{process_of(back)});
  p.out.put(write_workers{});
  return {back.id, back.incarnation, p.config.term,
          uint32_t(p.config.heartbeat.count())};
}

} // namespace ballast::coordinator
