/// Silence: which workers are suspected, what happens to those that do not
/// answer a fence, when the silence is the coordinator's own. And what else
/// time brings.
#include "runtime/coordinator/accounting.hpp"
#include "runtime/coordinator/judging.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>

namespace ballast::coordinator {

namespace {

/// The workers of `run` join within this time, also on a busy machine.
constexpr std::chrono::seconds join_wait{60};
/// Whoever waits longer for workers is told.
constexpr std::chrono::seconds waiting_told_after{4};

losses::silent silence_of(const coordinator_parts& p, worker_id who,
                          instant now, bool is_fenced = false) {
  return {std::chrono::duration_cast<std::chrono::milliseconds>(
              p.nodes.detector().age(who, now)),
          is_fenced};
}

void judge_suspect(coordinator_parts& p, worker_id who, instant now) {
  const fenced* s = p.members.in<fenced>();
  if (s && s->held.awaited().contains(who))
    return; // the fence has its own deadline
  const bool belongs = p.members.member(who) || p.members.joining(who);
  const bool finishes = p.members.in<finishing>() != nullptr;
  if (belongs && !finishes) {
    if (!s)
      fence_all(p,
                recovery_reasons::worker_silent{p.nodes.name_of(who),
                                                silence_of(p, who, now)},
                p.nodes.detector().last_word(who), now, who);
    return;
  }
  instant patience = 2 * failure_detector::suspect_after * p.config.heartbeat;
  // Whoever holds the final parameters may wake up and hand them out.
  if (belongs)
    patience = std::max<instant>(
        patience, std::chrono::seconds(p.run.spec.elastic().grace_s));
  if (p.nodes.detector().age(who, now) > patience)
    exclude(p, {who, silence_of(p, who, now)}, now);
}

/// A fence ends only with a fresh answer from a worker that holds the model as
/// it was shown. Without one the coordinator may be the one that is cut off:
/// it excludes and decides nothing, and asks again.
bool waits_for_holder(coordinator_parts& p, fenced& s, instant now) {
  const step_number shown = s.members.commits.committed();
  const std::optional<step_number> base = s.held.base();
  if (base ? *base >= shown : value(shown) == 0 && !s.held.acks().empty())
    return false;
  if (p.run.requests.stops() && value(shown) == 0)
    return false; // nothing is lost
  const instant until = std::max(
      p.lost.return_until(),
      s.held.asked_last() + std::chrono::seconds(p.run.spec.elastic().grace_s));
  if (s.held.complete() || now >= until)
    return false;
  s.held.wait_until(std::min(until, now + p.nodes.detector().ack_patience()));
  std::string names;
  for (worker_id who : s.held.awaited()) {
    if (p.nodes.connected(who))
      p.out.put(send_fence{who, p.fence_now()});
    names += (names.empty() ? "" : ", ") + p.nodes.name_of(who);
  }
  p.say_waiting("no worker that holds the model of step " + to_string(shown) +
                " answers: waits for " + names);
  return true;
}

/// A run that waits for workers says so before anybody wonders. In a cluster
/// others may still come; `run` has started all there are.
void tell_long_wait(coordinator_parts& p, instant now) {
  const bool waits = p.members.in<waiting>() != nullptr;
  const instant waited = p.run.delay.without_workers(waits, now);
  if (!waits)
    return;
  const std::string joined = std::to_string(connected(p.nodes).size()) +
                             " of " + std::to_string(p.staff.expected()) +
                             " workers";
  if (p.config.supervised && waited > join_wait) {
    fail(p, {errc::worker_lost,
             "only " + joined + " joined within 60 s; see their files in logs/",
             {}});
  } else if (waited > waiting_told_after && p.run.delay.why().empty()) {
    std::string gone;
    for (const std::string& name : p.staff.expelled())
      gone += (gone.empty() ? "; excluded, and not ended yet: " : ", ") + name;
    p.say_waiting(joined + " are here: waits for more" + gone);
  }
}

/// A node came while it was found that the others have no room, or has left and
/// is still there.
bool may_make_room(const coordinator_parts& p) {
  const opening* s = p.members.in<opening>();
  if (!s || !s->recovery || !p.members.shortage() || p.run.requests.stops())
    return false;
  const auto& all = p.nodes.all();
  return std::any_of(all.begin(), all.end(), [&](const auto& one) {
    return p.may_train(one.second) && !s->members.holds(one.first) &&
           (s->members.owes(one.first) || !p.nodes.leaving(one.first));
  });
}

/// Fences and openings that something else than a message ends.
void go_on_waiting(coordinator_parts& p, bool attempt_due, instant now) {
  if (const fenced* s = p.members.in<fenced>();
      s && s->held.complete() && (p.run.requests.stops() || attempt_due))
    decide(p, now); // it waited for more workers, or for the next attempt
  if (may_make_room(p))
    fence_all(p, p.members.recovery()->reason, now, now);
  if (const opening* s = p.members.in<opening>();
      s && s->recovery && p.run.requests.stops() && p.members.shortage())
    finish(p, run_phase::stopped, p.run.requests.stop_code(),
           "stopped while no worker had room for all data; `ballast run "
           "--resume` goes on from the newest checkpoint");
}

/// This process stood still (SIGSTOP, a disk that hangs, a laptop that slept):
/// what was sent meanwhile is still unread, so no deadline ran.
void excuse_own_freeze(coordinator_parts& p, instant now) {
  const instant gap = p.ticked < instant{0} ? instant{0} : now - p.ticked;
  p.ticked = now;
  if (p.config.tick.count() == 0 || gap <= p.config.tick + p.config.heartbeat)
    return;
  const instant away = gap - p.config.tick;
  p.nodes.excuse(away, now);
  p.lost.excuse(away);
  p.run.reductions.excuse();
  if (fenced* s = p.members.in<fenced>())
    s->held.excuse(away, now);
  p.run.suspects.excuse(away);
}

void judge_silence(coordinator_parts& p, instant now) {
  for (worker_id who : p.nodes.detector().suspects(now))
    judge_suspect(p, who, now);
  fenced* s = p.members.in<fenced>();
  if (!s || !s->held.overdue(now) || waits_for_holder(p, *s, now))
    return;
  for (worker_id who : std::set(s->held.awaited())) {
    loss_cause cause = losses::not_returned{};
    if (!s->may_return.contains(who) || p.nodes.connected(who))
      cause = silence_of(p, who, now, true);
    exclude(p, {who, std::move(cause)}, now);
    s = p.members.in<fenced>();
    if (!s)
      break;
  }
}

/// What nobody ends by himself is begun anew.
void judge_reduction(coordinator_parts& p, instant now) {
  const training* s = p.members.in<training>();
  if (!s)
    return;
  const auto found =
      p.run.reductions.stuck(s->members.workers, s->members.number);
  if (!found)
    return;
  std::string names;
  for (const std::string& name : p.names(s->members.workers))
    names += (names.empty() ? "" : ", ") + name;
  fence_all(p,
            recovery_reasons::collective_failed{
                names, "all of them are in that of step " +
                           to_string(found->step) + " for " +
                           std::to_string(
                               std::chrono::duration_cast<std::chrono::seconds>(
                                   found->waited)
                                   .count()) +
                           " s, and nothing comes"},
            now - found->waited, now);
}

} // namespace

void account_time(coordinator_parts& p, run_phase phase, instant now) {
  if (p.members.in<idle>() || p.members.in<ended>())
    return;
  std::vector<worker_id> members, others;
  for (const auto& [id, one] : p.nodes.all())
    if (one.connected)
      (p.members.member(id) ? members : others).push_back(id);
  p.run.time.pass(now, phase, members, others);
}

void on(coordinator_parts& p, const clock_tick&, instant now) {
  excuse_own_freeze(p, now);
  account_time(p, p.members.phase(), now);
  tell_stragglers(p, now);
  observe(p, now);
  for (const auto& [who, cause] : p.lost.overdue(now))
    if (p.lost.is_open(who))
      explain(p, who, cause, now);
  judge_silence(p, now);
  judge_reduction(p, now);
  if (p.members.active())
    for (const load_watch::finding& one : p.lost.stalled())
      if (p.members.active() && p.nodes.connected(one.who))
        exclude(p, {one.who, one.what}, now);
  const bool attempt_due = p.members.active() && p.run.links.tick(now);
  go_on_waiting(p, attempt_due, now);
  conclude_refused(p, now);
  ask_again_for_model(p, now);
  try_memory_again(p, now);
  stop_in_time(p);
  if (p.members.active() && p.run.copies.due_again(now)) {
    fetch_copy(p);
    want_copy(p);
  }
  forget_dead(p);
  p.nodes.let_back(now);
  replace_workers(p);
  consider_change(p);
  part_from_all(p, now);
  tell_long_wait(p, now);
  tell_slow_opening(p, now);
}

} // namespace ballast::coordinator
