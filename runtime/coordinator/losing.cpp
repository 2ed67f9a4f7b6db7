/// Nodes that are lost, excluded or let go, and those that replace them.
#include "runtime/coordinator/transitions.hpp"

#include <utility>

namespace ballast::coordinator {

namespace {

/// And the run has never begun.
bool none_comes(const coordinator_parts& p) {
  return p.config.supervised && !p.members.members() && !p.staff.respawns();
}

void tell_no_more_starts(coordinator_parts& p, const std::string& what) {
  p.out.tell(events::respawn_ended{
      p.staff.early_deaths(), p.run.spec.elastic().respawn_window_s, what});
}

/// What a loss means for the generation it belonged to.
void go_on_without(coordinator_parts& p, const loss_report& what,
                   instant bad_sign, instant now) {
  const worker_id who = what.worker;
  // One that leaves may still owe the others the last step before the switch.
  if (!p.members.member(who) && !p.members.joining(who) &&
      !p.members.in_fence(who) && !p.members.leaver(who))
    return;
  recovery_reason why =
      recovery_reasons::worker_lost{p.nodes.name_of(who), what.cause};
  if (fenced* s = p.members.in<fenced>()) {
    s->recovery.reason = std::move(why);
    s->recovery.lost = who;
    s->held.forget(who);
    if (s->held.complete())
      decide(p, now);
  } else if (!p.members.in<finishing>()) {
    // Silence began with its last word; a death is seen when it is told.
    const bool silent = std::holds_alternative<losses::silent>(what.cause);
    fence_all(p, std::move(why), silent ? std::min(bad_sign, now) : now, now,
              who);
  } // else the model is fetched from another if it cannot be from here
}

void open_loss(coordinator_parts& p, const loss_report& what, instant now) {
  const worker_id who = what.worker;
  const node& gone = p.nodes.at(who);
  const instant bad_sign =
      p.nodes.lose(who, gone.about.leaving && !p.members.member(who));
  p.devices.forget(who);
  if (!p.members.active())
    return;
  p.lost.forget_load(who);
  p.run.reductions.forget(who);
  if (fenced* s = p.members.in<fenced>())
    s->may_return.erase(who);
  // Only who computed steps has left something out of them.
  p.lost.open(what, now, p.run.spec.compresses() && p.members.member(who));
  // All had begun, so it is at a step or about to be.
  if (p.members.member(who) && p.members.all_ready())
    p.run.suspects.died(who);
  if (!p.config.supervised) // no report of how its process ended will come
    tell_loss(p, who, what.cause);
  p.out.put(write_workers{});
  if (!p.nodes.proven(who) && p.staff.died_early(now))
    tell_no_more_starts(p,
                        describe_node(gone) + " lost: " + describe(what.cause));
  p.lost.end_with_reason(none_comes(p));
  if (p.members.members())
    go_on_without(p, what, bad_sign, now);
}

} // namespace

void lose(coordinator_parts& p, const loss_report& what, instant now) {
  open_loss(p, what, now);
  if (what.final && p.lost.is_open(what.worker))
    explain(p, what.worker, what.cause, now);
}

/// Lost, and its process is to take no part any more.
void exclude(coordinator_parts& p, const loss_report& what, instant now) {
  lose(p, what, now);
  show_out(p, what.worker);
}

void show_out(coordinator_parts& p, worker_id who, std::string dismissed,
              std::string reason) {
  if (p.nodes.joined_anew(who))
    return; // the supervisor would end a worker that trains
  p.staff.expel(p.nodes.name_of(who));
  p.out.put(expel{who, std::move(dismissed), std::move(reason)});
}

void explain(coordinator_parts& p, worker_id who, const loss_cause& cause,
             instant now) {
  tell_loss(p, who, cause);
  if (!p.members.active() || !p.lost.take_end())
    return;
  if (!p.members.members()) {
    fail(p, {errc::worker_lost,
             describe_node(p.nodes.at(who)) + " lost: " + describe(cause),
             {}});
  } else if (const fenced* s = p.members.in<fenced>();
             s && s->held.complete()) {
    decide(p, now);
  }
}

void tell_loss(coordinator_parts& p, worker_id who, const loss_cause& cause) {
  const bool unsent = p.lost.close(who);
  const node& gone = p.nodes.at(who);
  if (p.members.in<idle>())
    return;
  if (recovery_times* times = p.members.recovery(); times && times->lost == who)
    times->reason = recovery_reasons::worker_lost{gone.about.name, cause};
  std::optional<events::worker_lost::place> where;
  if (!gone.about.host.empty()) // else it is known from the journal only
    where = {gone.about.pid, gone.about.host};
  p.out.tell(events::worker_lost{gone.about.name, gone.incarnation,
                                 std::move(where), cause, unsent});
  if (!p.members.active())
    return;
  p.run.suspects.explain(who, cause);
  p.run.suspects.judge(p.out, p.nodes, p.run.copies.newest().step());
}

void on(coordinator_parts& p, const connection_lost& what, instant now) {
  if (p.nodes.connected(what.worker))
    lose(p, {what.worker, what.cause, false}, now);
}

void on(coordinator_parts& p, const process_ended& what, instant now) {
  p.staff.process_ended(what.name);
  if (preparing* s = p.members.in<preparing>(); s && s->past && s->past->alive)
    s->past->alive->erase(what.name);
  std::vector<worker_id> gone;
  const fenced* s = p.members.in<fenced>();
  for (const auto& [id, who] : p.nodes.all())
    if (who.about.name == what.name &&
        (who.connected || (s && s->may_return.contains(id))))
      gone.push_back(id);
  for (worker_id who : gone)
    lose(p, {who, what.how}, now);
  if (!gone.empty())
    return;
  for (const auto& [id, since] : p.lost.open())
    if (p.nodes.at(id).about.name == what.name)
      return explain(p, id, what.how, now); // nothing is read behind this
  if (!p.members.active() || p.members.phase() == run_phase::finishing)
    return;
  for (const auto& [id, who] : p.nodes.all())
    if (who.about.name == what.name)
      return;
  const std::string line =
      "worker " + what.name + " ended before it joined: " + describe(what.how);
  const bool one_too_many = p.staff.died_early(now);
  if (none_comes(p))
    fail(p, {errc::worker_lost, line, {}});
  else if (one_too_many)
    tell_no_more_starts(p, line);
}

void let_go(coordinator_parts& p, worker_id who) {
  p.nodes.release(who);
  p.devices.forget(who);
  const node& leaver = p.nodes.at(who);
  p.out.tell(events::worker_left{process_of(leaver)});
  p.out.put(send_command{who,
                         {p.config.term, p.members.newest_generation(),
                          command_kind::leave, "left"}});
}

void replace_workers(coordinator_parts& p) {
  const preparing* s = p.members.in<preparing>();
  if (!p.members.active() || (s && s->past) || p.run.requests.stops() ||
      p.members.phase() == run_phase::finishing)
    return;
  const fenced* f = p.members.in<fenced>();
  size_t here = 0;
  for (const auto& [id, who] : p.nodes.all())
    here += (who.connected && !p.nodes.leaving(id)) ||
                    (f && f->may_return.contains(id))
                ? 1
                : 0;
  for (std::string& name :
       p.staff.replace(here, p.members.in<waiting>() != nullptr))
    p.out.put(start_worker{std::move(name)});
}

void forget_dead(coordinator_parts& p) {
  constexpr size_t kept = 32; // the newest, for the status
  std::vector<worker_id> dead;
  for (const auto& [id, who] : p.nodes.all())
    if (!who.connected && !p.lost.is_open(id))
      dead.push_back(id);
  for (size_t i = 0; i + kept < dead.size(); ++i)
    if (!p.members.needs(dead[i]))
      p.nodes.forget(dead[i]);
}

} // namespace ballast::coordinator
